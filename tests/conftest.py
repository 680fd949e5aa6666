from controlplane.fixtures import cluster, control_plane
__all__ = ["cluster", "control_plane"]
