"""The client of the API server: requests, lists, watches and leader election, without interpreting objects."""
