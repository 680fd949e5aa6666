"""What ``podberth status`` finds of an installation: objects of the API server in, findings out. Pure."""
