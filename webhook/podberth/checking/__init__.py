"""The I/O of ``podberth check``: reads files or a live cluster, and writes the results.

The room ``check`` decides, without I/O.
"""
