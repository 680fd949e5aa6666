"""Follows a live cluster, passes its facts to other packages, and writes statuses and Events to it."""
