"""Evaluates Kubernetes' own admission policies on documents and pods, without a cluster.

This room reads documents as strictly as the API server, and puts policies into the form that ``policy`` compiles and
evaluates. It also evaluates what only native policies have: bindings, and objects and params of any kind.
"""
