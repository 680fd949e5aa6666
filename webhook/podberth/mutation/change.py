"""The classes for a policy's proposal (values to write), and for the change of a pod that a proposal causes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, dict[str, Any]]
"""The content of a pod's record: the written values (``Change.wrote``), by policy and mutation.

Policies are in the order in which they wrote.
"""


@dataclass(frozen=True, slots=True)
class Change:
    """The change that one mutation made to one pod.

    ``wrote`` is JSON of exactly the values that were written. The pod's record has these values: when the pod is
    reviewed again, podberth compares the values with the pod, and writes those that an update has removed.
    ``describe`` returns a phrase ("tolerates nvidia.com/gpu:NoSchedule") for policies that give no reason.
    """

    concern: str
    wrote: Any
    describe: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """The result of a mutation that podberth deliberately did not apply, with the reason for the user."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The values that a policy wants to write by one mutation: results of expressions, and literals."""

    concern: str
    leaves: Mapping[str, Any]
    """The values by name: the name of a label, annotation or variable, or "" for a mutation's only value."""


def joined(before: Any, wrote: Any) -> Any:
    """Return a recorded change, or a part of one, with the values of both.

    Lists are joined without duplicates. If both have a single value under equal keys, the second value is used.
    """
    if isinstance(before, list) and isinstance(wrote, list):
        return [*before, *(item for item in wrote if item not in before)]
    if isinstance(before, dict) and isinstance(wrote, dict):
        keys = [*before, *(key for key in wrote if key not in before)]
        return {key: joined(before.get(key), wrote[key]) if key in wrote else before[key] for key in keys}
    return wrote
