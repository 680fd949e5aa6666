"""Writes the proposals of policies on a pod and records them. If two policies want one field, it decides who wins.

``concerns`` has a module for each mutation; ``pipeline`` has the tuple of all mutations.
"""
