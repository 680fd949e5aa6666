"""A report as people and machines read it: one module for each format, each a function of the report alone."""
