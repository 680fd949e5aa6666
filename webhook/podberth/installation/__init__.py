"""Findings of ``podberth status`` about an installation: objects of the API server in, findings out. Pure."""
