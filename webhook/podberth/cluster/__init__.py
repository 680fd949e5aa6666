"""Follows a live cluster, passes its facts to other rooms, and writes statuses and Events to it."""
