"""The policy engine: parses, compiles, matches and evaluates GPUPolicy documents.

``mutation`` and ``admission`` apply its decisions; this package does not import them.
"""
