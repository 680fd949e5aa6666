"""What all listening ports of podberth share: how long and how much a connection may take, and what it never says.

``budget`` counts the bytes that callers make the process hold, ``places`` the connections, ``connection`` bounds the
head of a request, ``listener`` accepts. Who is answered what is for the ports themselves.
"""
