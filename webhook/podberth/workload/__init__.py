"""The facts about a Pod: its gang, the GPUs that it asks for, and the Pods that are made from a workload's templates.

Policies and mutations make decisions from these facts. No function in this package reads nodes.
"""
