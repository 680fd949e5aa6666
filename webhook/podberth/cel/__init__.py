"""CEL: an expression is compiled and type-checked once, and evaluated on plain JSON.

Only this package imports the CEL runtime. Only this package and ``agent.pod_resources`` import protobuf. No other
module sees the types of either. The names and functions that expressions may use are declared here; this package knows
nothing else about policies.
"""
