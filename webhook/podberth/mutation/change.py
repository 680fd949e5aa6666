"""The proposal of a policy and the change that a builder makes from it: JSON for the record, a summary for users."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, dict[str, Any]]
"""The claims of a record by policy and concern, each a ``Change.wrote``; policies in the order in which they wrote."""


@dataclass(frozen=True, slots=True)
class Change:
    """One concern's edit of one pod.

    ``wrote`` is JSON that has exactly what was added, so that the record can be compared with the pod and replayed.
    ``describe`` returns a phrase ("tolerates nvidia.com/gpu:NoSchedule") for policies that give no reason.
    """

    concern: str
    wrote: Any
    describe: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A mutation that is left out on purpose, with the reason for the user."""

    concern: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The values that a policy wants for one concern: evaluated leaves and literals."""

    concern: str
    leaves: Mapping[str, Any]
    """The values by name: "" for the only leaf of a concern, the key for a label, an annotation or a variable."""
