"""Computes the lines of ``podberth status`` from an installation's objects, without I/O."""
