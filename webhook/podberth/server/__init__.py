"""The HTTP side: bytes in, a decision of the core, bytes out. Async and thin; it does not interpret pods."""
