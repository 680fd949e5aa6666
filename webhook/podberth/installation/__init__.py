"""Judges an installation for ``podberth status``: takes objects of the API server and returns findings, without I/O."""
