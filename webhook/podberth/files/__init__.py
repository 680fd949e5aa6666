"""Reads policies, manifests and the documents of a cluster from files. What they mean is the core's to say."""
