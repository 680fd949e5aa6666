"""The node agent: reads a node's accelerators from the drivers and publishes the observations.

The package ``topology`` interprets the observations.
"""
