"""Output formats of a report: one module for each, each a function of the report alone."""
