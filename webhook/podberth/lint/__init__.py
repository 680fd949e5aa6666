"""Static analysis of policies: the lint rules, and the code that runs them.

This room does no I/O: it gets policies, their texts and a cluster's nodes, and returns findings. A rule is a module of
``lint.rules``. A rule does not depend on other rules, on its place in the registry, or on the use of its findings.
"""
