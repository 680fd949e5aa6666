"""What a policy wants of a mutation, and what came of it: the record's words for machines, a summary for people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, dict[str, Any]]
"""What policies wrote: by policy and concern, each as ``Change.wrote`` says it; policies in the order of writing."""


@dataclass(frozen=True, slots=True)
class Change:
    """One concern's edit of one pod.

    ``wrote`` is JSON and says exactly what was added, so that the record can be checked against the pod and replayed.
    ``describe`` makes a phrase for the user ("tolerates nvidia.com/gpu:NoSchedule"), for policies that give no reason.
    """

    concern: str
    wrote: Any
    describe: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A mutation that was asked for and left out on purpose, with the reason for the user."""

    concern: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a policy wants of one concern: the concern's leaves by name, evaluated, and its literals."""

    concern: str
    leaves: Mapping[str, Any]
    """By leaf name; a concern with one leaf has it under "". Keys of labels and annotations are their own names."""
    reason: str
    """The policy's words for the change; empty where it has none."""
