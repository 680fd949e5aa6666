"""The facts of one cluster: which kinds of objects are read, what is kept of each, and the immutable table of all.

Every object becomes a fact here, whether it comes from a file, a watch, a list or a test. Who places nodes is
``topology``'s to say, what a pod is part of ``workload``'s.
"""
