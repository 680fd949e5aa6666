"""Manifests judged without a cluster: each pod template decided on as the webhook would, and what came of it told.

Pure: texts in, a report and patched texts out. Which files there are and where output goes is the command line's.
"""
