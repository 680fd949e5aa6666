"""CEL: compile and type-check an expression once, evaluate it on plain JSON.

The only importer of the CEL runtime, and of protobuf with ``agent.pod_resources``; nothing outside sees their types.
What a policy may name and call is declared here; what a policy is, and when it is asked, is not known here.
"""
