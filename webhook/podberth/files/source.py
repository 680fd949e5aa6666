"""The seam between whoever knows policies and cluster, and the server that decides by them.

A topology that is followed through the API server does not come this way: ``live`` hands on an index at each change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ..admission.snapshot import Snapshot
from ..errors import Problem

PolicyState: TypeAlias = Literal["active", "outdated", "broken"]
"""It decides; it is broken, and the last good version of it decides; it is broken, and nothing is in its place."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one GPUPolicy object."""

    name: str
    generation: int
    state: PolicyState
    problems: tuple[Problem, ...]
    """Sorted; none of an active one."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A snapshot, and what could not be used of what it was made from: worth saying, no reason not to serve."""

    snapshot: Snapshot
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """Of objects of the cluster only: files are in force together or not at all."""


class SnapshotSource(Protocol):
    """Makes snapshots. Both calls block and are made from one thread at a time, never the event loop's."""

    def revision(self) -> Mapping[str, object]:
        """Return a token for each part ("policies", "topology") that differs when ``load`` may return something new."""
        ...

    def load(self) -> Loaded:
        """Return a new snapshot, with a CEL environment of its own.

        Raises:
            PolicyError: the policies are at fault.
            TopologyError: the cluster's documents are at fault.
        """
        ...
