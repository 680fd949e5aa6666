"""Creates, reads and checks keys and certificates, without I/O and without a clock: callers pass contents and times.

No other room imports ``cryptography``.
"""
