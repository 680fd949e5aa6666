"""Plans the ResourceClaimTemplates that policies declare: a template is made if a waiting pod names the template.

The owners of the pods own the template. The content comes from the policy; only the name of the template is read from a
pod. An existing template of another writer stays unchanged, and the pod's claim is then made from that template.
"""

from collections.abc import Mapping
from typing import Any, Final

from ...admission.notices import Regarding
from ...kube.object_names import NamespacedName
from ...kube.pod import OwnerReference
from .lineage import joined, metadata, owners, regarding
from .world import ActionPlan, Create, GroupChange, Made, WaitingPod, World

KIND: Final = "resourceclaimtemplates.resource.k8s.io"
NOUN: Final = "ResourceClaimTemplate"
_REFUSED: Final = "ResourceClaimTemplateRefused"


def plan(world: World, now: float) -> ActionPlan:
    """Return the plan to make missing ResourceClaimTemplates, and to add owners to existing templates."""
    del now
    found = ActionPlan()
    if KIND not in world.served or world.declared is None:
        return found
    declared = world.declared
    wanted: dict[NamespacedName, list[WaitingPod]] = {}
    for pod in world.pods.values():
        for name in pod.templates:
            if name in declared:
                wanted.setdefault((pod.namespace, name), []).append(pod)
    for place, pods in sorted(wanted.items()):
        made = world.known[KIND].get(place)
        # A template that is being deleted cannot be kept: it is made again when it is gone.
        if made is not None and (made.deleting or not made.ours):
            continue
        whose, unknown = owners(pods, world)
        found.actions += unknown
        # Owners that are not known yet are added later, so that one slow answer delays nobody: the content of the
        # template does not depend on them.
        if whose:
            step = _creation(place, whose, world, declared[place[1]]) if made is None else _joined(place, made, whose)
            found.actions += [] if step is None else [step]
    return found


def _creation(place: NamespacedName, whose: dict[str, OwnerReference], world: World, spec: Mapping[str, Any]) -> Create:
    document = {
        "apiVersion": world.served[KIND],
        "kind": NOUN,
        "metadata": metadata(place, whose, {}),
        "spec": spec,
    }
    return Create(kind=KIND, noun=NOUN, refused=_REFUSED, document=document, about=_about(place[0], whose))


def _joined(place: NamespacedName, made: Made, whose: dict[str, OwnerReference]) -> GroupChange | None:
    """Return the change that adds owners to a ResourceClaimTemplate; None if there are no new owners.

    Without the change, the garbage collector would delete the template together with the last present owner.
    """
    references = joined(made, whose)
    if not references:
        return None
    # With its known version, so that no owner is lost that another writer adds meanwhile.
    patch = {"metadata": {"uid": made.uid, "resourceVersion": made.version, "ownerReferences": references}}
    return GroupChange(
        kind=KIND, noun=NOUN, refused=_REFUSED, place=place, uid=made.uid, patch=patch, about=_about(place[0], whose)
    )


def _about(namespace: str, whose: dict[str, OwnerReference]) -> Regarding:
    return regarding(namespace, next(iter(whose.values())))
