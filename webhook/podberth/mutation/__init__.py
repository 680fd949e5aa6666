"""Writes the changes that policies propose into a pod, and records them. Of two conflicting policies, the first wins.

``concerns`` has a module for each mutation; ``pipeline`` lists all mutations.
"""
