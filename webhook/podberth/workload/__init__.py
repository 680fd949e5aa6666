"""What a Pod is part of and what it wants of GPUs, and the Pod that a workload's template becomes.

Facts only: what to do about them is for policies and builders. No node is looked at here.
"""
