"""Runs the tests that a policy's author writes beside the policy, with the engine that decides in the cluster."""

from typing import Final

GOLDEN_SUFFIX: Final = ".golden.yaml"
"""The suffix of a golden file's name; files with it are not read as policies."""
