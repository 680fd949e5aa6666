"""The policy engine: parses, compiles, matches and evaluates GPUPolicy documents.

The packages ``mutation`` and ``admission`` apply the decisions.
"""
