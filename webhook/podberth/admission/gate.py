"""Refuses mutations that would change what a pod's group system decides (docs/rules.md, rules 2 and 3).

For each group system, ``kinds.systems.System`` has the facts that the refusals are derived from.
"""

from collections.abc import Iterable
from typing import Final

from ..kinds.dossiers import DOSSIERS
from ..kube.patch import Draft
from ..kube.paths import Path
from ..kube.shape import RESOURCED_LISTS
from ..mutation.membership import GangFacts
from ..mutation.pipeline import CONCERNS
from ..policy.compile import CompiledMutation, CompiledPolicy, depends_on_snapshot
from ..workload.gangs import Gang
from ..workload.systems import BY_NAME
from .description import meets

_OWN_TOPOLOGY = {key: where for row in DOSSIERS for key, where in row.own_topology.items()}
_GROUPING: Final[tuple[Path, ...]] = (("spec", "schedulerName"), ("spec", "schedulingGroup"))
_PLACING: Final[tuple[Path, ...]] = (("spec", "affinity"), *_GROUPING)
_POD_AFFINITY: Path = ("spec", "affinity", "podAffinity")
_LISTS = frozenset((each,) for each in RESOURCED_LISTS)
# Fields of a pod that count as requests besides its containers' (component-helpers resource/helpers.go, PodRequests).
_OF_THE_POD = frozenset({"resources", "resourceClaims", "overhead"})


def refusal(policy: CompiledPolicy, mutation: CompiledMutation, draft: Draft, known: GangFacts) -> str | None:
    """Return the reason why a mutation may not be applied to a pod that a group system places; else None.

    An empty reason means that the mutation is not applied, and that the user needs no message. ``known`` has the facts
    about the pod's gang. A mutation of a plain pod may always be applied.
    """
    gang, concern = known.gang, CONCERNS[mutation.concern]
    if gang.system == "plain" or concern.in_group(draft, known):
        return None
    if concern.decides == "placement":
        # The system starts this pod alone and does not place its gang, so a policy may.
        return None if gang.alone else _advice(gang, draft) if mutation.concern == "topology" else ""
    if concern.decides == "grouping":
        # The group system has already set the pod's scheduler and its group.
        return ""
    return _of_accounted(policy, mutation, gang) if gang.accounted else None


def _of_accounted(policy: CompiledPolicy, mutation: CompiledMutation, gang: Gang) -> str | None:
    if CONCERNS[mutation.concern].decides == "accounting":
        return _accounted(gang.system)
    if mutation.concern == "tolerations" and BY_NAME[gang.system].tolerates:
        return None
    depends = mutation.reads_snapshot or any(map(depends_on_snapshot, policy.conditions_read))
    if not depends:
        return None
    why = f"{gang.system} has accounted the pod already, and here it depends on the cluster"
    return f"{mutation.concern} left out: {why}; write it in the workload"


def refusal_of_writes(gang: Gang, written: Iterable[Path]) -> str:
    """Return why policies may not write the paths ``written``, because a group system places the pod; else empty.

    The check is for mutations that can write any field: only the mutation's result shows the written paths.
    """
    if gang.system == "plain":
        return ""
    paths = tuple(written)
    if meets(paths, _GROUPING if gang.alone else _PLACING):
        return f"{gang.system} places this pod's group"
    return _accounted(gang.system) if gang.accounted and any(map(_is_accounted, paths)) else ""


def _advice(gang: Gang, draft: Draft) -> str:
    """Return the message that the group system places the pod, and in which field a user requests topology from it.

    Empty if the topology is already requested, or if the group system has no field for topology.
    """
    row = BY_NAME[gang.system]
    general = row.topology if gang.accounted else row.alone_topology or row.topology
    own = _OWN_TOPOLOGY.get((gang.system, gang.source))
    where = general if own is None else own and own + gang.topology_needs
    has_asked = gang.asks_topology or any(draft.get(path) is not None for path in (_POD_AFFINITY, *row.asked_at))
    return "" if has_asked or not where else row.places(where)


def _accounted(system: str) -> str:
    return f"{system} has accounted this pod's resources already; write it in the workload"


def _is_accounted(path: Path) -> bool:
    return bool(_OF_THE_POD.intersection(path[1:2])) or "resources" in path[3:4] or path[1:] in _LISTS
