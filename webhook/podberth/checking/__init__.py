"""The I/O of ``podberth check``: reads files or lists a live cluster, and writes the results.

The package ``check`` makes the decisions, without I/O.
"""
