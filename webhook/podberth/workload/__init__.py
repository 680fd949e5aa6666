"""The gang that a Pod belongs to, the GPUs that it asks for, and the Pod that a workload's template becomes.

This room states facts. Policies and mutations decide what follows from them. Nothing here reads nodes.
"""
