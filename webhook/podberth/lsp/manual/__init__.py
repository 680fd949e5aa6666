"""The sentences about variables and functions of CEL, for the generated pages and for editors; only data and look-ups."""
