"""The output formats of a check's report: each module writes the report in one format."""
