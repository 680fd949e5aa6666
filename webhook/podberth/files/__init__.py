"""Reads policies, manifests and a cluster's documents from files. Other rooms interpret them."""
