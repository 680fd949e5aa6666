"""podberth gives every GPU pod its berth: an admission webhook and policy engine for Kubernetes."""

__all__ = ["__version__"]

__version__ = "0.1.0"
