"""The playground: a local page that shows what policies do to a workload in a cluster while they are written.

``answer`` and the modules that it imports are pure. ``worker`` computes the answers in a process of its own, and
``server`` has the page.
"""
