"""CEL: an expression is compiled and type-checked once, and then evaluated on plain JSON.

Only this package imports the CEL engine (cel-expr-python). Only this package and ``agent.pod_resources`` import
protobuf. No other module sees the types of the engine or of protobuf. The variables and functions that expressions may
use are declared here; otherwise the package knows nothing about policies.
"""
