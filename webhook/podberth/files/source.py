"""The interface between the server, which makes decisions from snapshots, and the loaders, which make the snapshots.

This interface is not for nodes that are watched through the API server: ``cluster.live_nodes`` gives the server a new
index at each change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ..admission.snapshot import Snapshot
from ..errors import Problem

PolicyState: TypeAlias = Literal["active", "disabled", "outdated", "broken"]
"""The state of a GPUPolicy. ``active``: the policy takes effect. ``disabled``: its spec switches the policy off.
``outdated``: the policy does not compile, and its last good version takes effect, or else the policy of the same name
from files. ``broken``: the policy does not compile, and no other version takes effect.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of loading one GPUPolicy object."""

    name: str
    generation: int
    state: PolicyState
    problems: tuple[Problem, ...]
    """The policy's problems, sorted; empty if the policy is active or disabled."""
    replaces: str = ""
    """The file with a policy of the same name, which the object replaces unless it is broken; empty: no such file."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A snapshot, and the problems of the snapshot's sources. The problems are reported, and do not prevent serving."""

    snapshot: Snapshot
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """The result of loading each GPUPolicy object of the cluster; policies from files have no such result."""
    refused: tuple[Problem, ...] = ()
    """The problems of policy files that have changed; the snapshot has the last version of the files that could be
    used.
    """
    complete: bool = True
    """Whether all policies are known; until the GPUPolicies of the cluster are listed, the snapshot decides nothing."""


class SnapshotSource(Protocol):
    """An object that makes snapshots.

    Both methods block. One thread at a time calls them, and never the thread of the event loop.
    """

    def revision(self) -> Mapping[str, object]:
        """Return a mapping from each source (``policies``, ``topology``) to a value.

        A value changes when the source has changed, so that ``load`` may return a new snapshot.
        """

    def load(self) -> Loaded:
        """Return a new snapshot, which has a CEL environment of its own.

        Raises:
            PolicyError: the policies cannot be used.
            TopologyError: the cluster's documents cannot be used.
        """
