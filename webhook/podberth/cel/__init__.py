"""CEL: an expression is compiled and type-checked once, and evaluated on plain JSON.

The only importer of the CEL runtime, and of protobuf with ``agent.pod_resources``; no other module sees their types.
The names and functions of policies are declared here; nothing here knows policies.
"""
