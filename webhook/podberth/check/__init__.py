"""Checks manifests without a cluster: podberth decides on each pod template as the webhook would, for a report.

The room does no I/O: it takes texts, and returns a report and patched texts. The command line finds the files and
chooses the output.
"""
