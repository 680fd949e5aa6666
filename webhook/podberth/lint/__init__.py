"""Static analysis of policies: the lint rules, and the code that runs them.

The room does no I/O: it takes policies, their texts and a cluster's nodes, and returns findings. A rule is a module of
``lint.rules``. It does not depend on the other rules, on its place in the registry, or on the use of its findings.
"""
