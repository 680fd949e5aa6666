"""The interface between the loaders of policies and cluster, and the server that decides by them.

A topology that is watched through the API server does not come this way: ``live`` passes on an index at each change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ..admission.snapshot import Snapshot
from ..errors import Problem

PolicyState: TypeAlias = Literal["active", "outdated", "broken"]
"""active: the policy decides. The others: it is broken, and its last good version decides, or nothing does."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result for one GPUPolicy object."""

    name: str
    generation: int
    state: PolicyState
    problems: tuple[Problem, ...]
    """The policy's problems, sorted; empty if it is active."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A snapshot, and the problems of its sources: worth reporting, no reason not to serve."""

    snapshot: Snapshot
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """Verdicts on policies of the cluster only: policies from files take effect together or not at all."""


class SnapshotSource(Protocol):
    """Makes snapshots. Both calls block. They are made from one thread at a time, never from the event loop's."""

    def revision(self) -> Mapping[str, object]:
        """Return a token for each part ("policies", "topology") that differs when ``load`` may return something new."""

    def load(self) -> Loaded:
        """Return a new snapshot, with a CEL environment of its own.

        Raises:
            PolicyError: the policies are at fault.
            TopologyError: the cluster's documents are at fault.
        """
