"""The sentences about variables, functions and fields, for the generated pages and for editors."""
