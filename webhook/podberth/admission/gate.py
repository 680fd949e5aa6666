"""Group first, affinity second.

What podberth leaves to the system that schedules a pod's group (docs/rules.md, rules 2 and 3).
"""

from collections.abc import Iterable

from ..kube.patch import Draft, Path
from ..kube.shape import RESOURCED_LISTS
from ..mutation.gang import GangFacts, is_made_of_members
from ..policy.compile import CompiledMutation, CompiledPolicy, depends_on_snapshot
from ..workload.systems import ACCOUNTING, JOINED, SYSTEMS
from .state import meets

_ROWS = {row.name: row for row in SYSTEMS}
_PLACEMENT = frozenset({"nodeAffinity", "topology"})
_PLACING: tuple[Path, ...] = (("spec", "affinity"), ("spec", "schedulerName"), ("spec", "schedulingGroup"))
# The group's system has said who schedules the pod, and to which group it belongs.
_GROUPING = frozenset({"gang", "schedulerName"})
_ACCOUNTING = frozenset({"resources", "resourceClaims"})
_LISTS = frozenset((each,) for each in RESOURCED_LISTS)
# What counts of a pod beside its containers' resources (component-helpers resource/helpers.go, PodRequests).
_OF_THE_POD = frozenset({"resources", "resourceClaims", "overhead"})


def refusal(policy: CompiledPolicy, mutation: CompiledMutation, draft: Draft, known: GangFacts) -> str | None:
    """Return why a mutation does not apply to a pod that a system schedules: None if it does, "" if silently not."""
    system = known.system
    if system == "plain" or (mutation.concern == "topology" and is_made_of_members(draft, known)):
        return None
    if mutation.concern in _PLACEMENT:
        return _ROWS[system].places(slices="slice" in {**mutation.leaves, **mutation.facts})
    if mutation.concern in _GROUPING:
        # A pod whose label names a native PodGroup is in its hands already, and still has to join it; one that asks for
        # a system's scheduler may still be of no group of it (``mutation.gang``).
        return None if mutation.concern == "gang" and system in JOINED else ""
    return _accounting(policy, mutation, system) if system in ACCOUNTING else None


def _accounting(policy: CompiledPolicy, mutation: CompiledMutation, system: str) -> str | None:
    if mutation.concern in _ACCOUNTING:
        return _accounted(system)
    depends = mutation.reads_snapshot or any(map(depends_on_snapshot, policy.conditions_read))
    return "" if depends else None


def overreach(system: str, written: Iterable[Path]) -> str:
    """Return why what was written on a pod that ``system`` schedules may not stay; empty if it may.

    For mutations of which nothing but their result tells what they write.
    """
    if system == "plain":
        return ""
    paths = tuple(written)
    if meets(paths, _PLACING):
        return _ROWS[system].places()
    return _accounted(system) if system in ACCOUNTING and any(map(_is_accounted, paths)) else ""


def _accounted(system: str) -> str:
    return f"{system} has accounted this pod's resources already: write the wanted resource in the workload"


def _is_accounted(path: Path) -> bool:
    return bool(_OF_THE_POD.intersection(path[1:2])) or "resources" in path[3:4] or path[1:] in _LISTS
