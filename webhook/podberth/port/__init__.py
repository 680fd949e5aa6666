"""The base of all listening ports of podberth: limits of time and size for connections, and answers without a banner.

``budget`` counts the bytes that callers make the process hold, ``places`` the connections, ``connection`` bounds the
head of a request, ``listener`` accepts. Each port decides by itself which answers it gives to whom.
"""
