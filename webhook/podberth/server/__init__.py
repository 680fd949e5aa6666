"""The HTTP server of the webhook: reads requests, calls the core for decisions, and writes the answers.

The code is async. It does not interpret pods: ``admission`` does.
"""
