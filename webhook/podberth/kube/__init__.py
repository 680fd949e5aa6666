"""Functions for Kubernetes objects as plain JSON: quantities, pods, selectors, patches, schemas.

The functions follow the rules of Kubernetes itself, each with its source. No function here knows of GPUs, gangs or
policies.
"""
