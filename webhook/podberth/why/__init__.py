"""Finds why a pod waits: pure functions from the objects of a cluster to the cause, with evidence and remedy.

``causes`` has the table of causes; ``cluster.why`` reads the objects that the causes need. No function of this package
does I/O or waits.
"""
