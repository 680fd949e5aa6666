"""Evaluates Kubernetes' own admission policies on documents and pods, without a cluster.

This room reads documents as strictly as the API server, and puts policies into the form that ``policy`` compiles and
evaluates. The room adds bindings, params, resources of any kind, and the messages of the API server.
"""
