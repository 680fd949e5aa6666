"""The client of the API server: requests, lists, watches, pages and leader election. It does not interpret objects."""
