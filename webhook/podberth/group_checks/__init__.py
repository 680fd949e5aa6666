"""Checks of a workload's gangs and groups, independent of policies: one module for each check.

A check gets a workload's predicted pods and the cluster's facts. The findings of a check are warnings. A check denies
nothing, and reports nothing if the facts that the check needs are unknown.
"""
