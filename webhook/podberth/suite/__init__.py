"""Runs the tests that a policy's author writes next to the policy, with the engine that decides in the cluster."""

from typing import Final

GOLDEN_SUFFIX: Final = ".golden.yaml"
"""The suffix of a golden file's name. A golden file has a whole expected pod, and is not read as a policy."""
TESTS: Final = frozenset({"tests.yaml", "tests.yml", "tests.json"})
"""The names of files with tests. They are beside the policy that they test, and are not read as policies."""
