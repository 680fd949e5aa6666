"""The node agent against a real API server, held to the RBAC and the admission policy of its own manifests."""
