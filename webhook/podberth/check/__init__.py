"""Checks manifests without a cluster: each pod template is decided as the webhook would decide it, and reported.

Pure: texts in, a report and patched texts out. The command line finds the files and chooses the output.
"""
