"""Whose a made object is: the owner on top of the pods that it is for, or the pods themselves where nobody owns them.

The garbage collector takes an object away when the last of its owners is gone, so nothing here ever deletes.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..kube.names import is_subdomain
from ..kube.pod import OwnerReference
from ..workload.owners import OWNER_KINDS
from .model import LookUp, WaitingPod, World

ASKED: Final[Mapping[tuple[str, str], str]] = {
    (f"{each.group}/{version}", each.kind): each.plural for each in OWNER_KINDS for version in each.versions
}
"""Plurals of the kinds of owners that are looked up for an owner of their own, by apiVersion and kind."""
# No operator puts more between a pod and what its user made (workload.subject, Subject.lineage).
_LONGEST: Final = 4
MOST_OWNERS: Final = 64
"""Owners that an object names: a gang has one, but one of bare pods has as many as pods, each of some 150 bytes."""


def owners(pods: Iterable[WaitingPod], world: World) -> tuple[dict[str, OwnerReference], list[LookUp]]:
    """Return the owners of what is made for some pods, by uid, and whom to look up before that can be said.

    Pods whose owner is gone have none: they are about to go, too.
    """
    found: dict[str, OwnerReference] = {}
    asked: dict[str, LookUp] = {}
    for pod in pods:
        top = on_top(pod, world)
        if top is None:
            continue
        if pod.owner is not None and _unknown(top, world):
            asked[top.uid] = LookUp(pod.namespace, top)
        elif len(found) < MOST_OWNERS:
            found[top.uid] = top
    return found, list(asked.values())


def on_top(pod: WaitingPod, world: World) -> OwnerReference | None:
    """Return the highest owner of a pod that is known, itself where it has none; None where one on the way is gone."""
    owner = pod.owner
    if owner is None:
        return pod.itself()
    for _ in range(_LONGEST):
        # Whoever makes a pod writes its owners, and nobody proves them: no object has such a name.
        if owner.uid in world.gone or (_asked(owner) and not is_subdomain(owner.name)):
            return None
        above = world.owners.get(owner.uid)
        if above is None:
            break
        owner = above
    return owner


def _asked(owner: OwnerReference) -> bool:
    return (owner.api_version, owner.kind) in ASKED


def _unknown(owner: OwnerReference, world: World) -> bool:
    return _asked(owner) and owner.uid not in world.owners


def as_reference(owner: OwnerReference) -> dict[str, Any]:
    """Return an entry of metadata.ownerReferences: no controller and in nobody's way, unless it was read as that."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": owner.is_controller,
        "blockOwnerDeletion": owner.blocks_deletion,
    }
