"""Checks manifests without a cluster, and reports how podberth's webhook would decide on each pod template.

The package does no I/O: the functions take texts, and return a report and patched texts. The command line finds the
files and chooses the output.
"""
