"""Answers why a pod waits: pure functions from one picture of a cluster to the cause, its evidence and its remedy.

``causes`` has the table of causes; ``cluster.why`` reads what they ask for. Nothing here reads, waits or writes.
"""
