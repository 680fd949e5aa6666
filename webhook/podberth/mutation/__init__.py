"""Mutations of pods: what they write, what the record says of it, and which of two policies it stays with.

``concerns`` has a module for each mutation, ``pipeline`` the tuple of them.
"""
