"""Kubernetes' own admission policies, judged on documents and pods without a cluster.

Documents are read here as strictly as the API server reads them, and put into the form that ``policy`` compiles and
evaluates; this room adds bindings, params and resources of any kind, and the API server's own words.
"""
