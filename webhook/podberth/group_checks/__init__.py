"""Checks of a workload's group, whatever the policies say: one module for each check, whose findings are warnings.

A check is given a workload's predicted pods and the cluster's facts. Nothing is denied here, and unknown facts give no
finding.
"""
