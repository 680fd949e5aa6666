"""The output formats of a check's report: each module has one format, as a function of the report."""
