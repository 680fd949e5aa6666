"""Kubernetes objects as plain JSON: quantities, pods, selectors, patches, schemas.

The room has the rules of Kubernetes itself, each with its source. Nothing here knows of GPUs, gangs or policies.
"""
