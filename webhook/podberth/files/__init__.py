"""Reads policies, manifests and the documents of a cluster from files. The core interprets them."""
