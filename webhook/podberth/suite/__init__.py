"""Tests that a policy's author writes beside the policy; the engine that decides in the cluster runs them."""
