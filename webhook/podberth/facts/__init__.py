"""Keeps the facts of one cluster: the fields that podberth needs of each object that podberth reads.

A fact has the kept fields of one object, whether the object comes from a file, a watch, a list or a test. ``topology``
interprets the facts about nodes, and ``workload`` interprets the facts about a pod's workload.
"""
