"""The interface between the server, which decides with snapshots, and the loaders, which make them.

A topology that is watched through the API server does not use this interface: ``cluster.live_nodes`` passes on an index
at each change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ..admission.snapshot import Snapshot
from ..errors import Problem

PolicyState: TypeAlias = Literal["active", "disabled", "outdated", "broken"]
"""The state of a GPUPolicy. ``active``: the policy decides. ``disabled``: its spec says that it decides nothing.
``outdated``: it does not compile, and its last good version decides, or else the policy of the same name from files.
``broken``: it does not compile, and nothing is in its place."""


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
    """The results for the GPUPolicies of the cluster; policies of files have none, because they fail only together."""
    refused: tuple[Problem, ...] = ()
    """The problems of changed policy files; their last good set is in the snapshot."""
    complete: bool = True
    """Whether all policies are known; until the GPUPolicies of the cluster are listed, the snapshot decides nothing."""


class SnapshotSource(Protocol):
    """Makes snapshots. Both methods block; they are called from one thread at a time, never from the event loop's."""

    def revision(self) -> Mapping[str, object]:
        """Return, for "policies" and "topology", a token that changes when ``load`` may return something new."""

    def load(self) -> Loaded:
        """Return a new snapshot, which has its own CEL environment.

        Raises:
            PolicyError: the policies cannot be used.
            TopologyError: the cluster's documents cannot be used.
        """
