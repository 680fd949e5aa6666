"""The interface between the server, which makes decisions from snapshots, and the loaders, which make the snapshots.

Nodes that are watched through the API server do not use this interface: ``cluster.live_nodes`` gives the server a new
index at each change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ..admission.snapshot import Snapshot
from ..errors import Problem

PolicyState: TypeAlias = Literal["active", "disabled", "outdated", "broken"]
"""The state of a GPUPolicy. ``active``: the policy takes effect. ``disabled``: its spec switches it off. ``outdated``:
it does not compile, and its last good version takes effect, or else the policy of that name from files. ``broken``: it
does not compile, and no other version takes effect.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of loading one GPUPolicy object."""

    name: str
    generation: int
    state: PolicyState
    problems: tuple[Problem, ...]
    """The policy's problems, sorted; empty if it is active or disabled."""
    replaces: str = ""
    """The file with a policy of the same name, which the object replaces unless it is broken; empty: no file has one.
    """


@dataclass(frozen=True, slots=True)
class Loaded:
    """A snapshot, and the problems of its sources, which are reported and do not prevent serving."""

    snapshot: Snapshot
    warnings: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """The results of loading each GPUPolicy of the cluster; policies of files have none, because they fail only
    together.
    """
    refused: tuple[Problem, ...] = ()
    """The problems of policy files that have changed; the snapshot has the last version of the files that could be
    used.
    """
    complete: bool = True
    """Whether all policies are known; until the GPUPolicies of the cluster are listed, the snapshot decides nothing."""


class SnapshotSource(Protocol):
    """An object that makes snapshots.

    Both methods block; one thread at a time calls them, never the event loop's thread.
    """

    def revision(self) -> Mapping[str, object]:
        """Return one token each for "policies" and "topology"; it changes when ``load`` may return something new."""

    def load(self) -> Loaded:
        """Return a new snapshot, which has its own CEL environment.

        Raises:
            PolicyError: the policies cannot be used.
            TopologyError: the cluster's documents cannot be used.
        """
