"""``podberth controller``: of several replicas the leader makes what waiting pods need.

What is to be made, ``plan`` says, which is pure. Requests, clocks and the leader's Lease are handled here.
"""
