"""The base of all listening ports of podberth: connections are limited in time and size, and no answer names podberth.

The module ``byte_budget`` counts the bytes that the process holds for its callers, and ``slots`` counts the
connections. ``connection`` limits the size of a request's head, ``listener`` accepts connections, and ``answer`` has
short answers. Each port decides by itself how to answer.
"""
