"""Plans the PodGroups of gangs: the controller makes each missing PodGroup that admission has named on pods.

The PodGroup gets the size of the gang, which is in an annotation of the pod or in an owner. A pod names a group by a
label and a reference, which both have the name of the group. PodGroups that podberth has not made stay unchanged. A
missing PodGroup is reported, even if another program should have made it.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from ...admission.notices import Notice, Regarding, note
from ...kube.pod import OwnerReference
from ...wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from .lineage import joined, metadata, overdue, owners, regarding
from .systems import BY_NAME, nested
from .waiting_gangs import Consensus, WaitingGang, Word, judge, party, words
from .world import ActionPlan, Create, GroupChange, Made, Reference, WaitingPod, World

KIND: Final = "PodGroup"
_REFUSED: Final = "PodGroupRefused"
# How long after its newest pod a gang counts as complete. A group is not made earlier, because its topology cannot be
# changed later: members with GPUs state the level, and a launcher or head is created before them. The wait costs
# nothing, because a gang starts with its last pod anyway.
GATHER_SECONDS: Final = 5.0
# The largest number of disagreeing sizes in a notice: two show the disagreement, and the name of one owner may take a
# quarter of an Event's note.
_SHOWN: Final = 3


_Key: TypeAlias = tuple[str, str, str]
"""The namespace, the group system and the name of a gang's group."""


def plan(world: World, now: float) -> ActionPlan:
    """Return the plan to make or change PodGroups, with notices for pods whose group is missing for too long.

    ``now`` is in seconds since the epoch.
    """
    found = ActionPlan()
    gangs: dict[_Key, list[WaitingPod]] = {}
    for pod in world.pods.values():
        for reference in pod.groups:
            if _asks(pod, reference):
                gangs.setdefault((pod.namespace, reference.system.name, reference.name), []).append(pod)
    hindered = {key: _care(key, members, world, now, found) for key, members in gangs.items()}
    for pod in world.pods.values():
        for reference in pod.groups:
            hindrance = hindered.get((pod.namespace, reference.system.name, reference.name))
            hindrance = _remedy(pod, reference, world) if hindrance is None else hindrance
            if hindrance and _missing(pod, reference, world) and overdue(pod, world, now, found):
                found.notices.append(_missed(pod, reference, hindrance, world))
    return found


def _asks(pod: WaitingPod, reference: Reference) -> bool:
    """Return whether admission has made the pod a member of the group of ``reference``, and podberth makes such groups.

    podberth makes groups of the systems whose PodGroup has a minimum number of pods.
    """
    sized = pod.size > 0 or pod.sized_by_owner
    return pod.gang == reference.name and sized and bool(reference.system.minimum)


def _care(key: _Key, members: list[WaitingPod], world: World, now: float, found: ActionPlan) -> str | None:
    """Add the actions for a gang's group to ``found``; return why the group cannot be made, else "".

    Returns None if podberth does not make the group, because the cluster does not serve the group's kind.
    """
    namespace, system, name = key[0], BY_NAME[key[1]], key[2]
    kind = system.kinds[0]
    if kind not in world.served:
        return None
    made = world.known[kind].get((namespace, name))
    elsewhere = made is None and _present(namespace, name, system.kinds[1:], world)
    if elsewhere or (made is not None and (made.deleting or not made.ours)):
        return ""
    whose, unknown = owners(members, world)
    found.actions += unknown
    if unknown:
        said = next(filter(None, (world.failed.get((each.namespace, each.owner)) for each in unknown)), "")
        return said and f"podberth could not make it, because an owner of its pods cannot be read: {said}"
    if not whose:
        return "podberth could not make it: the owners of its pods are gone"
    gang = WaitingGang(system, (namespace, name), members, words(members, world), whose)
    if made is not None:
        _adapt(gang, made, world, now, found)
        return ""
    _begin(gang, world, now, found)
    said = world.failed.get((kind, gang.place), "")
    return said and f"podberth could not make it: {said}"


def _begin(gang: WaitingGang, world: World, now: float, found: ActionPlan) -> None:
    """Add the action that makes the gang's group to ``found``, or a notice if the pods disagree on size or level."""
    verdict = gang.verdict
    levels = {pod.level for pod in gang.members if pod.level and pod.required} if gang.system.topology else set()
    if len(verdict.sizes) > 1:
        found.notices.append(_undecided(gang, f"sizes {_said(gang)}"))
    elif len(levels) > 1:
        found.notices.append(_undecided(gang, f"required levels {', '.join(sorted(levels))}"))
    elif (due := _due(gang, verdict, bool(levels))) > now:
        found.again_at = min(found.again_at, due)
    else:
        found.actions.append(_creation(gang, verdict, next(iter(levels), ""), world))
        if _starts_one_by_one(verdict):
            found.notices.append(_without_minimum(gang, verdict))


def _present(namespace: str, name: str, kinds: Iterable[str], world: World) -> bool:
    return any((namespace, name) in world.known.get(kind, ()) for kind in kinds)


def _due(gang: WaitingGang, verdict: Consensus, said: bool) -> float:
    """Return the time, in seconds since the epoch, at which to make the gang's group; 0 if nothing has to be awaited.

    Pods that are created later may state a required level or the size. So the group is made ``GATHER_SECONDS`` after
    the newest pod. Nothing has to be awaited if the size is known (``verdict``) and no later pod can matter: a pod
    states a required level already (``said``), the group system has no levels, or all pods exist.
    """
    complete = not verdict.staged and len(gang.members) >= max(verdict.sizes, default=math.inf)
    if verdict.sizes and (said or gang.system.topology is None or complete):
        return 0.0
    return gang.newest + GATHER_SECONDS


def _starts_one_by_one(verdict: Consensus) -> bool:
    return bool(verdict.staged) or not verdict.sizes


def _creation(gang: WaitingGang, verdict: Consensus, level: str, world: World) -> Create:
    system, name = gang.system, gang.place[1]
    alone = _starts_one_by_one(verdict)
    body: dict[str, Any] = {"spec": {**system.without}} if alone else nested(system.minimum, max(verdict.sizes))
    if level and system.topology is not None:
        body["spec"] |= system.topology(level)
    named = metadata(gang.place, gang.owners, {GANG_LABEL: name})
    document = {"apiVersion": world.served[gang.kind], "kind": KIND, "metadata": named, **body}
    return Create(kind=gang.kind, noun=KIND, refused=_REFUSED, document=document, about=_about(gang))


def _adapt(gang: WaitingGang, made: Made, world: World, now: float, found: ActionPlan) -> None:
    """Plan the change of a PodGroup that podberth made, so that it has the gang's present size and owners.

    The owners of the group state the size. Any other owner of the gang's pods is added unless that owner states a
    different size. A group without owners gets the owners of the gang's pods. If no owner of the group owns a pod of
    the gang, the group belongs to an earlier gang. It is left unchanged, because it is deleted with its owners. The
    size stays if no owner states a size, or while it is unknown whether the pods start in stages.
    """
    parties = {party(each) for each in made.owners} or gang.words.keys()
    if parties.isdisjoint(gang.words):
        _report_others(gang, made, world, now, found)
        return
    verdict = judge([word for name, word in gang.words.items() if name in parties])
    if len(gang.verdict.sizes) > 1:
        found.notices.append(_undecided(gang, f"sizes {_said(gang)}"))
    if len(verdict.sizes) > 1:
        return
    if _starts_one_by_one(verdict) and made.minimum == 1:
        found.notices.append(_without_minimum(gang, verdict))
    [size] = {made.minimum} if verdict.guessed or not verdict.sizes else verdict.sizes
    agreed = {uid: each for uid, each in gang.owners.items() if _agrees(gang.words[party(each)], size, verdict)}
    known = {each.uid for each in made.owners}
    about = next((each for uid, each in agreed.items() if uid in known), next(iter(gang.owners.values())))
    target = regarding(gang.place[0], about)
    if size != made.minimum and world.fixed.get(made.uid) == size:
        found.notices.append(_notice(target, "PodGroupNotResized", "Resize", _not_resized(gang, made, size)))
        size = made.minimum
    change = _change(gang, made, size, agreed, target)
    found.actions += [change] if change is not None else []


def _change(
    gang: WaitingGang, made: Made, size: int, agreed: Mapping[str, OwnerReference], target: Regarding
) -> GroupChange | None:
    """Return the change that gives a gang's group ``size`` and the owners in ``agreed``; None if nothing changes.

    ``target`` is the object that Events about the change are about.
    """
    patch: dict[str, Any] = nested(gang.system.minimum, size) if size != made.minimum else {}
    references = joined(made, agreed)
    if not patch and not references:
        return None
    minimum = size if patch else 0
    # With its known version, so that nothing is lost that another writer adds meanwhile.
    patch["metadata"] = {"uid": made.uid, "resourceVersion": made.version}
    if references:
        patch["metadata"]["ownerReferences"] = references
    return GroupChange(
        kind=gang.kind,
        noun=KIND,
        refused=_REFUSED,
        place=gang.place,
        uid=made.uid,
        patch=patch,
        about=target,
        minimum=minimum,
    )


def _agrees(word: Word, size: int, verdict: Consensus) -> bool:
    """Return whether a group of ``size`` pods does not contradict the size that an owner states in ``word``.

    An owner that states no size contradicts no group. If the pods start in stages (``verdict.staged``), no size
    contradicts the group, because the pods then start one by one.
    """
    return bool(verdict.staged) or word.size in {0, size}


def _report_others(gang: WaitingGang, made: Made, world: World, now: float, found: ActionPlan) -> None:
    owner = f"{made.owners[0].kind} {made.owners[0].name}"
    text = (
        f"{KIND} {'/'.join(gang.place)}: got one that {owner} owns, want one of this pod's gang; "
        f"delete {owner} or the {KIND}, or give the gang another name"
    )
    for pod in gang.members:
        if overdue(pod, world, now, found):
            about = regarding(pod.namespace, pod.itself())
            found.notices.append(_notice(about, "PodGroupOfAnother", "Wait", text))


def _undecided(gang: WaitingGang, what: str) -> Notice:
    text = f"{KIND} {'/'.join(gang.place)}: the gang's pods say {what}; want one: correct them or give each gang a name"
    return _notice(_about(gang), "PodGroupUndecided", "Write", text)


def _said(gang: WaitingGang) -> str:
    """Return a text with some of the gang's stated sizes, each with an owner that states the size."""
    whose = {party(each): f"{each.kind} {each.name}" for each in gang.owners.values()}
    said = {word.size: whose.get(name, "other pods") for name, word in gang.words.items() if word.size}
    return ", ".join(f"{size} ({said[size]})" for size in sorted(said)[:_SHOWN])


def _without_minimum(gang: WaitingGang, verdict: Consensus) -> Notice:
    why, what = "nobody says how many there are", f"set annotation {GANG_SIZE_ANNOTATION} in their template"
    if verdict.staged:
        why, what = f"some are made only when others run ({verdict.staged})", "correct that"
    text = (
        f"{KIND} {'/'.join(gang.place)}: made without a minimum, and the gang's pods start one by one: {why}; "
        f"to start them together {what} and create the workload again"
    )
    return _notice(_about(gang), "PodGroupWithoutMinimum", "Write", text)


def _about(gang: WaitingGang) -> Regarding:
    return regarding(gang.place[0], next(iter(gang.owners.values())))


def _not_resized(gang: WaitingGang, made: Made, size: int) -> str:
    place = "/".join(gang.place)
    stays = f"{gang.system.minimum[-1]} stays {made.minimum}" if made.minimum > 1 else "the group stays without minimum"
    return (
        f"{KIND} {place}: got a gang of {size} pods, and {stays}: this API server does not let it change; delete the "
        f"{KIND} and the gang's pods: both are created again, for {size}"
    )


def _missing(pod: WaitingPod, reference: Reference, world: World) -> bool:
    settled = all(kind in world.served or kind in world.absent for kind in reference.system.kinds)
    return settled and not _present(pod.namespace, reference.name, reference.system.kinds, world)


def _missed(pod: WaitingPod, reference: Reference, hindrance: str, world: World) -> Notice:
    place, named_by = f"{pod.namespace}/{reference.name}", reference.system.named_by
    said = f"{KIND} {place}: got none after {world.patience_seconds:g} s, and {named_by} of this pod names it"
    return _notice(regarding(pod.namespace, pod.itself()), "PodGroupMissing", "Wait", f"{said}; {hindrance}")


def _remedy(pod: WaitingPod, reference: Reference, world: World) -> str:
    kind = reference.system.kinds[0]
    if not any(each in world.served for each in reference.system.kinds):
        return f"the API server serves no {kind}: install it, or make the pod without {reference.system.named_by}"
    if pod.gang == reference.name and not pod.size and reference.system.minimum:
        return f"set annotation {GANG_SIZE_ANNOTATION} and podberth makes it, or make one of {kind} yourself"
    return f"make one of {kind} in that namespace, or the pod without {reference.system.named_by}"


def _notice(about: Regarding, reason: str, action: str, text: str) -> Notice:
    return Notice(regarding=about, type="Warning", reason=reason, action=action, note=note(text))
