"""Checks manifests without a cluster, and reports how podberth's webhook would decide on each pod template.

The package does no I/O: it takes texts, and returns a report and patched texts. The command line finds the files and
chooses the output.
"""
