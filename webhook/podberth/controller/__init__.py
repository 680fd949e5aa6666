"""``podberth controller``: the leader of several replicas makes the objects that waiting pods need.

``plan`` is pure and decides which objects. The other modules handle requests, clocks and the leader's Lease.
"""
