"""PodGroups of gangs: made where admission made pods members of one that is not there, and as large as the gang is.

A pod asks for a group by its label and its reference, which say the same name, and by the size beside them. Groups that
podberth has not made are nobody's business here; that one is missing is told of, whoever was to make it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..admission.notices import Notice, Regarding, note
from ..kube.pod import OwnerReference
from ..wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL
from .lineage import MOST_OWNERS, as_reference, owners
from .model import Change, Create, Made, Place, Plan, Reference, WaitingPod, World
from .systems import BY_NAME, GroupSystem, nested

KIND: Final = "PodGroup"
# A level is said by members with GPUs, and a launcher or head comes before them. The group's topology cannot be changed
# later, and a gang starts with its last pod anyway; who is not there so long after the newest is not about to come.
GATHER_SECONDS: Final = 5.0


_Key: TypeAlias = tuple[str, str, str]
"""Namespace, system and name of a gang's group."""


@dataclass(frozen=True, slots=True)
class _Gang:
    """The waiting pods of a gang whose group is to be podberth's."""

    system: GroupSystem
    newest: WaitingPod
    """What it says is the gang's size now."""
    level: str
    """The node label key of the domain that it must be in; empty: no member says so."""
    owners: Mapping[str, OwnerReference]

    @property
    def kind(self) -> str:
        return self.system.kinds[0]

    @property
    def place(self) -> Place:
        return self.newest.namespace, self.newest.gang


def plan(world: World, now: float) -> Plan:
    """Say which groups to make and to change, and which pods wait for one that does not come."""
    found = Plan()
    gangs: dict[_Key, list[WaitingPod]] = {}
    for pod in world.pods.values():
        for reference in pod.groups:
            if _asks(pod, reference):
                gangs.setdefault((pod.namespace, reference.system, reference.name), []).append(pod)
    cared_for = {key for key, members in gangs.items() if _care(key, members, world, now, found)}
    for pod in world.pods.values():
        for reference in pod.groups:
            if (pod.namespace, reference.system, reference.name) not in cared_for:
                _miss(pod, reference, world, now, found)
    return found


def _asks(pod: WaitingPod, reference: Reference) -> bool:
    """Tell whether admission has made the pod member of a group that podberth is to make."""
    return pod.gang == reference.name and pod.size > 0 and bool(BY_NAME[reference.system].minimum)


def _care(key: _Key, members: list[WaitingPod], world: World, now: float, found: Plan) -> bool:
    """See to a gang's group; False: podberth does not, or cannot."""
    namespace, system, name = key[0], BY_NAME[key[1]], key[2]
    kind = system.kinds[0]
    if kind not in world.served:
        return False
    made = world.known[kind].get((namespace, name))
    if made is None and _present(namespace, name, system.kinds[1:], world):
        return True
    if made is not None and (made.deleting or not made.ours):
        return True
    whose, unknown = owners(members, world)
    found.actions += unknown
    if unknown or not whose:
        return True
    level = next((pod.level for pod in members if pod.level and pod.required), "")
    gang = _Gang(system, max(members, key=lambda pod: (pod.created, pod.size)), level, whose)
    if made is None:
        due = _due(gang, members)
        if due > now:
            found.again_at = min(found.again_at, due)
        else:
            found.actions.append(_creation(gang, world))
    else:
        _adapt(gang, made, world, found)
    return True


def _present(namespace: str, name: str, kinds: Iterable[str], world: World) -> bool:
    return any((namespace, name) in world.known.get(kind, ()) for kind in kinds)


def _due(gang: _Gang, members: list[WaitingPod]) -> float:
    """Return when to make the group: at once, unless a member that is yet to come may say on which level."""
    said = any(pod.level for pod in members)
    if said or gang.system.topology is None or len(members) >= gang.newest.size:
        return 0.0
    return gang.newest.created + GATHER_SECONDS


def _creation(gang: _Gang, world: World) -> Create:
    system, newest = gang.system, gang.newest
    body: dict[str, Any] = nested(system.minimum, newest.size)
    if gang.level and system.topology is not None:
        body["spec"] |= system.topology(gang.level)
    metadata = {
        "name": newest.gang,
        "namespace": newest.namespace,
        "labels": {MANAGED_BY_LABEL: MANAGED_BY, GANG_LABEL: newest.gang},
        "ownerReferences": [as_reference(each) for each in gang.owners.values()],
    }
    document = {"apiVersion": world.served[gang.kind], "kind": KIND, "metadata": metadata, **body}
    about = _regarding(newest.namespace, next(iter(gang.owners.values())))
    return Create(kind=gang.kind, document=document, about=about)


def _adapt(gang: _Gang, made: Made, world: World, found: Plan) -> None:
    """Let a group of podberth's have the size of the gang now, and all owners.

    One that none of them owns is of an earlier gang of that name, and goes with it.
    """
    known = {each.uid: each for each in made.owners}
    size = gang.newest.size
    about = next((each for uid, each in gang.owners.items() if uid in known), None)
    if about is None:
        return
    regarding = _regarding(gang.newest.namespace, about)
    patch: dict[str, Any] = {}
    if size != made.minimum:
        if world.fixed.get(made.uid) == size:
            found.notices.append(_notice(regarding, "PodGroupNotResized", "Resize", _not_resized(gang, made)))
        else:
            patch = nested(gang.system.minimum, size)
    joined = list({**known, **gang.owners}.values())[:MOST_OWNERS]
    more = {"ownerReferences": [as_reference(each) for each in joined]} if len(joined) > len(known) else {}
    if not patch and not more:
        return
    # What is known of it, so that nothing is lost that somebody else writes meanwhile.
    patch["metadata"] = {"uid": made.uid, "resourceVersion": made.version, **more}
    minimum = size if "spec" in patch else 0
    change = Change(kind=gang.kind, place=gang.place, uid=made.uid, patch=patch, about=regarding, minimum=minimum)
    found.actions.append(change)


def _not_resized(gang: _Gang, made: Made) -> str:
    place, size = "/".join(gang.place), gang.newest.size
    return (
        f"{KIND} {place}: got a gang of {size} pods, and {gang.system.minimum[-1]} stays {made.minimum}: this API "
        f"server does not let it change; delete the {KIND} and the gang's pods: both are made anew, for {size}"
    )


def _miss(pod: WaitingPod, reference: Reference, world: World, now: float, found: Plan) -> None:
    """Tell of a pod that waits for a group which is not there, once it has waited long enough."""
    settled = all(kind in world.served or kind in world.absent for kind in reference.kinds)
    if not settled or _present(pod.namespace, reference.name, reference.kinds, world):
        return
    due = pod.created + world.patience_seconds
    if due > now:
        found.again_at = min(found.again_at, due)
        return
    place = f"{pod.namespace}/{reference.name}"
    said = f"{KIND} {place}: got none after {world.patience_seconds:g} s, and {reference.said_by} of this pod names it"
    text = f"{said}; {_remedy(pod, reference, world)}"
    found.notices.append(_notice(_regarding(pod.namespace, pod.itself()), "PodGroupMissing", "Wait", text))


def _remedy(pod: WaitingPod, reference: Reference, world: World) -> str:
    kind = reference.kinds[0]
    if not any(each in world.served for each in reference.kinds):
        return f"the API server serves no {kind}: install it, or make the pod without {reference.said_by}"
    if pod.gang == reference.name and not pod.size and BY_NAME[reference.system].minimum:
        return f"set annotation {GANG_SIZE_ANNOTATION} and podberth makes it, or make one of {kind} yourself"
    return f"make one of {kind} in that namespace, or the pod without {reference.said_by}"


def _regarding(namespace: str, owner: OwnerReference) -> Regarding:
    return Regarding(
        api_version=owner.api_version, kind=owner.kind, namespace=namespace, name=owner.name, uid=owner.uid
    )


def _notice(about: Regarding, reason: str, action: str, text: str) -> Notice:
    return Notice(regarding=about, type="Warning", reason=reason, action=action, note=note(text))
