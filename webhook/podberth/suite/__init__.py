"""Runs the tests that a policy's author writes next to the policy, with the engine that decides in the cluster."""

from typing import Final

GOLDEN_SUFFIX: Final = ".golden.yaml"
"""The suffix of a golden file's name. A golden file has a whole expected pod, and is not read as a policy."""
