"""The base of all listening ports of podberth: it limits connections in time and size, and no answer names podberth.

``budget`` counts the bytes that the process holds for its callers. ``places`` counts the connections. ``connection``
limits the size of a request's head. ``listener`` accepts connections. Each port decides by itself how it answers.
"""
