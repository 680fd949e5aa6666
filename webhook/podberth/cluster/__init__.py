"""Follows a live cluster, hands on what it knows of it, and writes there what podberth says: statuses and Events."""
