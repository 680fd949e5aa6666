"""Group first, affinity second: mutations that are left to the pod's group system (docs/rules.md, rules 2 and 3)."""

from collections.abc import Iterable

from ..kube.patch import Draft, Path
from ..kube.shape import RESOURCED_LISTS
from ..mutation.membership import GangFacts
from ..mutation.pipeline import CONCERNS
from ..policy.compile import CompiledMutation, CompiledPolicy, depends_on_snapshot
from ..workload.systems import ACCOUNTING, SYSTEMS
from .state import meets

_ROWS = {row.name: row for row in SYSTEMS}
_PLACING: tuple[Path, ...] = (("spec", "affinity"), ("spec", "schedulerName"), ("spec", "schedulingGroup"))
_LISTS = frozenset((each,) for each in RESOURCED_LISTS)
# What counts of a pod beside its containers' resources (component-helpers resource/helpers.go, PodRequests).
_OF_THE_POD = frozenset({"resources", "resourceClaims", "overhead"})


def refusal(policy: CompiledPolicy, mutation: CompiledMutation, draft: Draft, known: GangFacts) -> str | None:
    """Return why a mutation does not apply to a pod that a system schedules: None if it does, "" if silently not."""
    system, concern = known.system, CONCERNS[mutation.concern]
    if system == "plain" or concern.in_group(draft, known):
        return None
    if concern.decides == "placement":
        return _ROWS[system].places(slices="slice" in {**mutation.leaves, **mutation.facts})
    if concern.decides == "grouping":
        # The group's system has said who schedules the pod, and to which group it belongs.
        return ""
    if system not in ACCOUNTING:
        return None
    if concern.decides == "accounting":
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
