"""Follows a live cluster, passes facts to other packages, and writes statuses and Events to the cluster."""
