"""Static analysis of policies: the lint rules, and the code that runs them.

This room does no I/O: its input are policies, the texts of policies and a cluster's nodes, and its output are findings.
A rule is a module of ``lint.rules``. A rule does not depend on other rules or on its position in the registry.
"""
