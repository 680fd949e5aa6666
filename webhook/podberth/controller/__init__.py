"""``podberth controller``: makes the objects, such as PodGroups, that waiting pods need; one replica leads.

``plan`` is pure and decides which objects to make. The other modules handle requests, clocks and the leader's Lease.
"""
