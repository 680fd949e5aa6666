"""The client of the API server: requests, lists, watches, pages and leader election. What is read is unknown here."""
