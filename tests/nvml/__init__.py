"""A driver to read: a libnvidia-ml.so.1 that plays what a scenario says, and machines to play."""
