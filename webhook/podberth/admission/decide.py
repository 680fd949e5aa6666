"""The four decisions, one for each path that the apiserver calls. Pure and total but for ReviewError."""

from .mutate import mutate
from .policy import validate_policy
from .validate import validate
from .workload import validate_workload

__all__ = ["mutate", "validate", "validate_policy", "validate_workload"]
