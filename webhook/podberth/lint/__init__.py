"""Static analysis of policies: the rules, and the code that runs them.

Pure: policies, their texts and a cluster's nodes come in, findings go out. A rule is a module of ``lint.rules``. It
does not know the other rules, its own place in the registry, or what happens to its findings.
"""
