"""The policy engine: parses, compiles, matches and evaluates GPUPolicy documents.

``mutation`` and ``admission`` apply the decisions of this package; the package does not import them.
"""
