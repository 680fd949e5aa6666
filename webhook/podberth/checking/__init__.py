"""The wiring of ``podberth check``: reads what is checked, from files or a live cluster, and writes what it found.

What is decided on a manifest is ``check``'s, which is pure.
"""
