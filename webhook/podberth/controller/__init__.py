"""``podberth controller``: the leader of several replicas makes the objects that waiting pods need.

``plan``, which is pure, says which objects. Requests, clocks and the leader's Lease are handled here.
"""
