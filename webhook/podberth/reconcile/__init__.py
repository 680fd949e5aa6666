"""What the controller makes for waiting pods and tells of them: pure, and asked anew whenever something changes.

Requests, clocks and the leader's Lease are ``controller``'s.
"""
