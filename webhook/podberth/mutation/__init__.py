"""Writes what policies propose on a pod, keeps a record of it, and decides between two policies with one field.

``concerns`` has a module for each mutation, ``pipeline`` the tuple of them.
"""
