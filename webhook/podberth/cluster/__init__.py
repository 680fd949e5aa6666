"""Follows a live cluster, passes on its facts, and writes to it: statuses and Events."""
