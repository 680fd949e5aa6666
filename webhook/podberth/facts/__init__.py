"""The facts of one cluster: the kinds of objects that are read, the kept fields of each, and the table of all facts.

Every object becomes a fact here, whether it comes from a file, a watch, a list or a test. ``topology`` interprets the
facts about nodes, and ``workload`` those about the workload of a pod.
"""
