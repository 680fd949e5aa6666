"""ResourceClaimTemplates that policies declare: made where a waiting pod names one, and owned by what the pods are of.

What is made is what stands in a policy; of a pod counts the name alone. One of that name that somebody else has made
stays as it is: the pod's claim is then made from that.
"""

from typing import Final

from ..admission.notices import Regarding
from ..kube.pod import OwnerReference
from ..wellknown import MANAGED_BY, MANAGED_BY_LABEL
from .lineage import MOST_OWNERS, as_reference, owners
from .model import Change, Create, Made, Place, Plan, WaitingPod, World

KIND: Final = "resourceclaimtemplates.resource.k8s.io"


def plan(world: World, now: float) -> Plan:
    """Say which templates to make, and which get another owner."""
    del now
    found = Plan()
    if KIND not in world.served:
        return found
    wanted: dict[Place, list[WaitingPod]] = {}
    for pod in world.pods.values():
        for name in pod.templates:
            if name in world.declared:
                wanted.setdefault((pod.namespace, name), []).append(pod)
    for place, pods in sorted(wanted.items()):
        made = world.known[KIND].get(place)
        # One that is being deleted cannot be kept: it is made again when it is gone.
        if made is not None and (made.deleting or not made.ours):
            continue
        whose, unknown = owners(pods, world)
        found.actions += unknown
        # Owners that are not known yet join later: a template is the same for all, and one slow answer holds up nobody.
        if whose:
            step = _creation(place, whose, world) if made is None else _joined(place, made, whose)
            found.actions += [] if step is None else [step]
    return found


def _creation(place: Place, whose: dict[str, OwnerReference], world: World) -> Create:
    metadata = {
        "name": place[1],
        "namespace": place[0],
        "labels": {MANAGED_BY_LABEL: MANAGED_BY},
        "ownerReferences": [as_reference(each) for each in whose.values()],
    }
    document = {
        "apiVersion": world.served[KIND],
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": world.declared[place[1]],
    }
    return Create(kind=KIND, document=document, about=_about(place[0], whose))


def _joined(place: Place, made: Made, whose: dict[str, OwnerReference]) -> Change | None:
    """Add owners: the garbage collector takes a template with the last one."""
    known = {each.uid: each for each in made.owners}
    joined = list({**known, **whose, **known}.values())[:MOST_OWNERS]
    if len(joined) <= len(known):
        return None
    # What is known of it, so that no owner is lost that somebody else adds meanwhile.
    references = [as_reference(each) for each in joined]
    patch = {"metadata": {"uid": made.uid, "resourceVersion": made.version, "ownerReferences": references}}
    return Change(kind=KIND, place=place, uid=made.uid, patch=patch, about=_about(place[0], whose))


def _about(namespace: str, whose: dict[str, OwnerReference]) -> Regarding:
    owner = next(iter(whose.values()))
    return Regarding(
        api_version=owner.api_version, kind=owner.kind, namespace=namespace, name=owner.name, uid=owner.uid
    )
