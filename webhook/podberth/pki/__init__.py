"""Keys and certificates: made, read and judged. Pure: times are passed in, and nothing here touches a file or a socket.

The only importer of ``cryptography``.
"""
