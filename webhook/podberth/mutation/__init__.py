"""Writes the changes that policies propose into a pod, and records the changes.

If two policies conflict, the change of the earlier policy counts. ``concerns`` has a module for each mutation;
``pipeline`` lists all mutations.
"""
