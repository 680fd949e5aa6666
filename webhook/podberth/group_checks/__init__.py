"""Checks of a workload's group, independent of policies: one module for each check. The findings are warnings.

A check gets a workload's predicted pods and the cluster's facts. It denies nothing, and finds nothing where facts are
unknown.
"""
