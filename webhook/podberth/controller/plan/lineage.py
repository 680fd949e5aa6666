"""Finds the owner of an object that podberth makes: the topmost owner of the object's pods, else the pods.

The object names the owner in ``metadata.ownerReferences``. If the object cannot be made, an Event about the owner says
so. ``documents`` also returns the fields of all owners of a pod that determine the pod's gang.

The garbage collector deletes an object when the last owner is gone, so this module never deletes anything.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...admission.notices import Regarding
from ...kube.object_names import NamespacedName, is_subdomain
from ...kube.pod import OwnerReference
from ...wellknown import MANAGED_BY, MANAGED_BY_LABEL
from ...workload.owners import LOOKED_UP
from ...workload.stages import UNREADABLE
from .world import ActionPlan, LookUp, Made, Owned, WaitingPod, World

# Steps up from the pod's controller. The longest known chain has five: from the StatefulSet of a leader's
# workers to the leader, the leaders' StatefulSet, the LeaderWorkerSet, the RoleBasedGroup (kinds.members,
# Subject.lineage), to an AppWrapper; one to spare. References may go in a circle, so there is an end.
_LONGEST: Final = 6
MOST_OWNERS: Final = 64
"""The maximum number of owners of one object.

A gang has one owner, but a gang of bare pods has one for each pod, of some 150 bytes each.
"""


def owners(pods: Iterable[WaitingPod], world: World) -> tuple[dict[str, OwnerReference], list[LookUp]]:
    """Return (owners by uid, missing look-ups of owners) for an object that podberth makes for ``pods``.

    There are at most ``MOST_OWNERS`` owners. An owner that may itself have owners counts only after a look-up. Pods
    whose owner no longer exists are skipped, because such pods are about to be deleted, too.
    """
    found: dict[str, OwnerReference] = {}
    asked: dict[Owned, LookUp] = {}
    for pod in pods:
        top = on_top(pod, world)
        if top is None:
            continue
        if pod.owner is not None and _asked(top) and (pod.namespace, top) not in world.owners:
            asked[pod.namespace, top] = LookUp(pod.namespace, top)
        elif len(found) < MOST_OWNERS:
            found[top.uid] = top
    return found, list(asked.values())


def on_top(pod: WaitingPod, world: World) -> OwnerReference | None:
    """Return the topmost known owner of a pod, or the pod itself if there is no owner.

    None if one of the owners no longer exists, or has a name that no object can have.
    """
    top = pod.itself()
    for owner in _upwards(pod, world):
        # The author of a pod may write any owner, because nobody checks it. No object has a name that is no subdomain.
        if (pod.namespace, owner) in world.gone or (_asked(owner) and not is_subdomain(owner.name)):
            return None
        top = owner
    return top


def documents(pod: WaitingPod, world: World) -> dict[str, Mapping[str, Any]]:
    """Return a mapping from the uid of each looked-up owner of a pod to the fields that determine the pod's gang."""
    found: dict[str, Mapping[str, Any]] = {}
    for owner in _upwards(pod, world):
        metadata = {"name": owner.name, "namespace": pod.namespace, "uid": owner.uid}
        unread = {"apiVersion": owner.api_version, "kind": owner.kind, "metadata": metadata, "spec": UNREADABLE}
        if (pod.namespace, owner) in world.owners:
            found[owner.uid] = world.documents.get((pod.namespace, owner), unread)
    return found


def _upwards(pod: WaitingPod, world: World) -> Iterator[OwnerReference]:
    """Yield a pod's controller, the controller's controller, and so on, as far as known."""
    owner = pod.owner
    for _ in range(_LONGEST + 1):
        if owner is None:
            return
        yield owner
        owner = world.owners.get((pod.namespace, owner))


def _asked(owner: OwnerReference) -> bool:
    return (owner.api_version, owner.kind) in LOOKED_UP


def metadata(place: NamespacedName, whose: Mapping[str, OwnerReference], labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the metadata of an object to be made, with the owners ``whose`` (by uid) and the labels.

    ``place`` is (namespace, name) of the object. A label that names podberth as the manager is added.
    """
    return {
        "name": place[1],
        "namespace": place[0],
        "labels": {MANAGED_BY_LABEL: MANAGED_BY, **labels},
        "ownerReferences": [_as_reference(each) for each in whose.values()],
    }


def joined(made: Made, whose: Mapping[str, OwnerReference]) -> list[dict[str, Any]]:
    """Return the ownerReferences of an object with the new owners added; empty if ``whose`` has no new owners.

    If there are more than ``MOST_OWNERS`` owners, new owners are left out, and never present owners.
    """
    known = {each.uid: each for each in made.owners}
    every = list({**known, **whose, **known}.values())[:MOST_OWNERS]
    return [_as_reference(each) for each in every] if len(every) > len(known) else []


def regarding(namespace: str, owner: OwnerReference) -> Regarding:
    """Return an owner as the object that an Event is about."""
    return Regarding(
        api_version=owner.api_version, kind=owner.kind, namespace=namespace, name=owner.name, uid=owner.uid
    )


def _as_reference(owner: OwnerReference) -> dict[str, Any]:
    """Return an owner as an item of metadata.ownerReferences.

    The fields controller and blockOwnerDeletion keep the values that were read.
    """
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": owner.is_controller,
        "blockOwnerDeletion": owner.blocks_deletion,
    }


def overdue(pod: WaitingPod, world: World, now: float, found: ActionPlan) -> bool:
    """Return whether a pod has waited so long that a notice is due; False if the pod has scheduling gates.

    If a notice is not due yet, ``found.again_at`` gets the time at which to plan again.
    """
    due = pod.created + world.patience_seconds
    if due > now:
        found.again_at = min(found.again_at, due)
    return due <= now and not pod.gated
