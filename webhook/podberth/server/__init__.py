"""The HTTP side: bytes in, a decision asked of the core, bytes out. Async, thin, and without an opinion on pods."""
