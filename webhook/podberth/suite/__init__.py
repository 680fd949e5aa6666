"""Runs the tests that a policy's author writes beside the policy, with the engine that decides in the cluster."""
