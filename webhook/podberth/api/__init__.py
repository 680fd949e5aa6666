"""The client of the API server: requests, lists, watches and leader election. It does not interpret objects."""
