"""Keys and certificates: creation, reading and checks. Pure: times are passed in, no file or socket is touched here.

The only importer of ``cryptography``.
"""
