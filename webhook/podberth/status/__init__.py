"""What an installation in a cluster is like: objects of the API server in, findings out. Reads nothing itself."""
