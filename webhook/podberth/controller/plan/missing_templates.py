"""Plans notices about pods that wait for a policy's claim template which podberth does not make.

The name of a policy's template ends with a digest, so a changed policy declares a template with another digest in the
name. The controller forgets earlier declarations when it restarts. A template whose name has no digest belongs to
another author, and Kubernetes itself reports that such a template is missing.
"""

import re
from typing import Final

from ...admission.notices import Notice, note
from ...kube.object_names import NamespacedName
from .claim_templates import KIND, NOUN
from .lineage import overdue, owners, regarding
from .world import ActionPlan, WaitingPod, World

_REASON: Final = "ResourceClaimTemplateMissing"
# policy.claim_template: the name in the policy, and eight digits of a digest.
_WRITTEN: Final = re.compile(r".+-[0-9a-f]{8}")
_REMEDY: Final = "create the pod again, or give podberth controller the --policies of podberth serve"


def plan(world: World, now: float) -> ActionPlan:
    """Return a plan with a notice for each pod that has waited too long for a claim template of a policy."""
    found = ActionPlan()
    if KIND not in world.served or world.declared is None:
        return found
    for pod in world.pods.values():
        for name in pod.templates:
            place = pod.namespace, name
            if place in world.known[KIND] or not _WRITTEN.fullmatch(name):
                continue
            why = _why(pod, place, world)
            if why and overdue(pod, world, now, found):
                found.notices.append(_missed(pod, place, why, world))
    return found


def _why(pod: WaitingPod, place: NamespacedName, world: World) -> str:
    """Return why podberth does not make a claim template; empty if podberth is about to make the template."""
    if world.declared is None or place[1] not in world.declared:
        return f"no policy in force declares it (any more); {_REMEDY}"
    _, unknown = owners([pod], world)
    tried = [world.failed.get((KIND, place)), *(world.failed.get((each.namespace, each.owner)) for each in unknown)]
    said = next(filter(None, tried), "")
    return said and f"podberth could not make it: {said}"


def _missed(pod: WaitingPod, place: NamespacedName, why: str, world: World) -> Notice:
    said = f"{NOUN} {'/'.join(place)}: got none after {world.patience_seconds:g} s, and a claim of this pod names it"
    about = regarding(pod.namespace, pod.itself())
    return Notice(regarding=about, type="Warning", reason=_REASON, action="Wait", note=note(f"{said}; {why}"))
