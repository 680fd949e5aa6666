"""Writes the changes that policies propose into a pod, and records the changes.

Of two conflicting policies, the earlier wins. ``concerns`` has a module for each mutation; ``pipeline`` lists all
mutations.
"""
