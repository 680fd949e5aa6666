"""Writes the changes that policies propose into a pod, and records them; the earlier of two conflicting policies wins.

``concerns`` has a module for each mutation; ``pipeline`` lists all mutations.
"""
