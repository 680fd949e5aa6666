"""The three decisions, one for each path that the apiserver calls. Pure and total but for ReviewError."""

from .mutate import mutate
from .validate import validate
from .workload import validate_workload

__all__ = ["mutate", "validate", "validate_workload"]
