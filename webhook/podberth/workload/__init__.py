"""The facts about a Pod: its gang, the GPUs that it asks for, and the Pods that a workload's templates become.

Policies and mutations decide what follows from these facts. Nothing in this room reads nodes.
"""
