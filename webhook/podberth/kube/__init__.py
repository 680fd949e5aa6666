"""Kubernetes objects as plain JSON: quantities, pods, selectors, patches, schemas.

Upstream's own semantics live here, each with its source. Nothing here knows of GPUs, gangs or policies.
"""
