"""Pods that wait for a claim template of a policy's that nobody makes: what they wait for is told, and why.

Such a template has a digest behind its name, and a policy that was changed declares another one: what was declared
before the last change is forgotten when the controller is started anew. Templates of other names are somebody else's,
and of those Kubernetes says itself that they are missing.
"""

import re
from typing import Final

from ...admission.notices import Notice, note
from .claim_templates import KIND, NOUN
from .lineage import owners, regarding
from .model import Place, Plan, WaitingPod, World
from .patience import overdue

_REASON: Final = "ResourceClaimTemplateMissing"
# policy.claim_template: the name that stands in the policy, and eight digits of a digest.
_WRITTEN: Final = re.compile(r".+-[0-9a-f]{8}")
_REMEDY: Final = "make the pod anew, or give podberth controller the --policies of podberth serve"


def plan(world: World, now: float) -> Plan:
    """Say which pods wait for a template that does not come."""
    found = Plan()
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


def _why(pod: WaitingPod, place: Place, world: World) -> str:
    """Say why nobody makes the template; empty: it is about to be made."""
    if world.declared is None or place[1] not in world.declared:
        return f"no policy in force declares it (any more); {_REMEDY}"
    _, unknown = owners([pod], world)
    tried = [world.failed.get((KIND, place)), *(world.failed.get((each.namespace, each.owner)) for each in unknown)]
    said = next(filter(None, tried), "")
    return said and f"podberth could not make it: {said}"


def _missed(pod: WaitingPod, place: Place, why: str, world: World) -> Notice:
    said = f"{NOUN} {'/'.join(place)}: got none after {world.patience_seconds:g} s, and a claim of this pod names it"
    about = regarding(pod.namespace, pod.itself())
    return Notice(regarding=about, type="Warning", reason=_REASON, action="Wait", note=note(f"{said}; {why}"))
