"""Writes the changes that policies propose into a pod, and records them. The earlier of two conflicting policies wins.

``concerns`` has a module for each mutation; ``pipeline`` lists all mutations.
"""
