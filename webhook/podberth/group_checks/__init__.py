"""Checks of a workload's group, whatever the policies say: one module for each check, whose findings are warnings.

A check is given a workload's pods as they will come, and what is known of the cluster. Nothing is denied here, and
nothing is said of what is not known.
"""
