"""Reads policies, manifests and a cluster's documents from files, without interpreting them."""
