"""Judges an installation of podberth for ``podberth status``, from objects of the API server, without I/O."""
