"""The node agent: it reads a node's accelerators from the drivers and publishes what it observed.

The package ``topology`` interprets the observations.
"""
