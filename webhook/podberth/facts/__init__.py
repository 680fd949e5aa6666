"""Keeps the facts of one cluster: the fields that podberth needs of each object that it reads.

Every object becomes a fact here, whether it comes from a file, a watch, a list or a test. ``topology`` interprets the
facts about nodes, and ``workload`` those about the workload of a pod.
"""
