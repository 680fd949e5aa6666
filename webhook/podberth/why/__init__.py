"""Finds why a pod waits: pure functions from a ``Picture`` of a cluster to the cause, with evidence and remedy.

``causes`` has the table of causes; ``cluster.why`` reads the objects that the causes need. No function of this room
does I/O or waits.
"""
