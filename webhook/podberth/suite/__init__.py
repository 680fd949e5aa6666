"""Tests that a policy's author writes beside the policy, run by the same engine that decides in the cluster."""
