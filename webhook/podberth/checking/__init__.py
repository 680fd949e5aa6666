"""The I/O of ``podberth check``: reads files or a live cluster, and writes the results.

``check``, which is pure, decides on manifests.
"""
