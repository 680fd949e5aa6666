"""Finds whether a pod waits because resources are not free: pods hold the resources, or no node has enough."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ..kube.amounts import POD_SLOTS, is_device, number, shown
from ..kube.unchecked import at, text_at
from ..words import counted, lasting, listed, named
from .alternatives import alternatives
from .diagnosis import Diagnosis
from .health import unhealthy
from .machines import Machine, scarce
from .picture import Document, holds_since, place_of
from .selection import barriers, selects
from .shares import are_shares, shared
from .steps import Step

_MOST_NODES: Final = 3
_MOST_HOLDERS: Final = 3


def has_room(step: Step, machine: Machine) -> bool:
    """Return whether a node has enough free of every resource that the pod asks for."""
    return all(machine.free.get(name, 0) >= each for name, each in _counted(step).items())


def full(step: Step) -> Diagnosis:
    """Return the diagnosis that no node has enough free resources for the pod.

    Other pods hold the resources, or the free resources are spread over several nodes.
    """
    name, nodes = scarce(step.nodes, _counted(step), lambda each: each.free)
    wanted = step.wants[name]
    free = {each.name: max(0, each.free.get(name, 0)) for each in nodes}
    most = max(free.values())
    together = sum(free.values())
    nearest = sorted(nodes, key=lambda each: -each.free.get(name, 0))[:_MOST_NODES]
    apart = most < wanted <= together
    fewer = "1" if are_shares(nearest[0], name) else number(name, most)
    asked = [each for each in sorted(_counted(step).items()) if each[0] != POD_SLOTS]
    other, instead = alternatives(step, name)
    going = tuple(_going(nodes, name, wanted))
    ill, repair = unhealthy(nodes, name, wanted, lambda each: each.free)
    evidence = (
        *([f"it asks for {listed([shown(each, amount) for each, amount in asked])}"] if asked else []),
        *(near(step, each, name) for each in nearest),
        *shared(nearest, name),
        *other,
        *ill,
        *_holders(nodes, name),
        *_elsewhere(step),
        *step.by_reason,
        _preemption(step, name),
    )
    if apart:
        return Diagnosis(
            cause="fragmented",
            title=f"{shown(name, together)} are free, but at most {number(name, most)} on one node; "
            f"it wants {number(name, wanted)} on one",
            evidence=evidence,
            do=(
                *going,
                f"ask for {fewer} in each pod, and run more pods",
                *repair,
                *_free_up(step, nearest[0], name, wanted - most),
            ),
        )
    beside = "" if len(nodes) == len(step.nodes) else " that has the rest of what it asks for free"
    title = (
        f"no node{beside} has {shown(name, wanted)} free: the most is {number(name, most)} on {nearest[0].name}"
        if most
        else f"{_all_of(name, sum(each.offers.get(name, 0) for each in nodes))} held"
    )
    return Diagnosis(
        cause="busy",
        title=title,
        evidence=evidence,
        do=(
            *going,
            *instead,
            *((f"ask for {fewer} in each pod, or wait until a holder ends",) if most else ()),
            *repair,
            *_free_up(step, nearest[0], name, wanted - most),
        ),
    )


def _all_of(name: str, every: int) -> str:
    """Return the subject and verb of a sentence about all that the pod could use of a resource."""
    if number(name, every) != "1":
        return f"all {shown(name, every)} that it could use are"
    return f"the only {'pod slot' if name == POD_SLOTS else name} that it could use is"


def _counted(step: Step) -> dict[str, int]:
    """Return the pod's requests by resource, without the extended resources that no node of the step offers."""
    return {
        name: each
        for name, each in step.wants.items()
        if not is_device(name) or any(name in one.offers for one in step.nodes)
    }


def near(step: Step, machine: Machine, name: str) -> str:
    """Return a line about a node: the free amount of a resource, and the pods that hold the resource, with ages."""
    free, offers = max(0, machine.free.get(name, 0)), machine.offers.get(name, 0)
    held = sorted(machine.holders(name), key=lambda each: -each[1])
    texts = [
        f"{place_of(pod)} ({number(name, has)}, {lasting(step.picture.age(holds_since(pod)))}"
        f"{', being deleted' if _is_going(pod) else ''})"
        for pod, has in held
    ]
    more = f" and {len(texts) - _MOST_HOLDERS} more" if len(texts) > _MOST_HOLDERS else ""
    by = f"; held by {', '.join(texts[:_MOST_HOLDERS])}{more}" if texts else ""
    return f"{machine.name}: {number(name, free)} of {shown(name, offers)} free{by}"


def _holders(nodes: tuple[Machine, ...], name: str) -> Iterator[str]:
    """Yield a line with the four namespaces whose pods hold most of a resource on ``nodes``.

    There is no line if there are few nodes and one namespace holds all that is held.
    """
    by_namespace: Counter[str] = Counter()
    for machine in nodes:
        for pod, has in machine.holders(name):
            by_namespace[text_at(pod, "metadata", "namespace")] += has
    if len(by_namespace) > 1 or (by_namespace and len(nodes) > _MOST_NODES):
        texts = [f"{space} {number(name, has)}" for space, has in by_namespace.most_common(4)]
        yield f"held on {counted(len(nodes), 'node')} by namespace: {', '.join(texts)}"


def _elsewhere(step: Step) -> Iterator[str]:
    """Yield a line for each earlier step that excluded nodes with enough free resources: their names and the reason."""
    for words, nodes in step.gone.items():
        if rooms := [each for each in nodes if each.pods is not None and has_room(step, each)]:
            # The step of node selection excludes a node before its taints are checked.
            why = (selects(step, rooms[0]) and listed(barriers(step, rooms[0]))) or words
            yield f"enough is free on {named(sorted(each.name for each in rooms))}, which it cannot use: {why}"


def _preemption(step: Step, name: str) -> str:
    """Return the line that says whether the scheduler could make room for the pod by preemption of other pods.

    ``name`` is the requested resource that the pod lacks.
    """
    pod = step.picture.pod or {}
    mine = _priority(pod)
    if text_at(pod, "spec", "preemptionPolicy") == "Never":
        return "preemption does not help: its PriorityClass never preempts"
    for machine in step.nodes:
        lower = [(each, asks) for each, asks in machine.asks if _priority(each) < mine]
        freed = Counter(machine.free)
        for _, asks in lower:
            freed.update(asks)
        if lower and all(freed.get(each, 0) >= amount for each, amount in _counted(step).items()):
            nominated = text_at(pod, "status", "nominatedNodeName")
            now = f"; it is nominated for {nominated}" if nominated else ""
            return (
                f"preemption: {counted(len(lower), 'pod')} of lower priority on {machine.name} "
                f"{'holds' if len(lower) == 1 else 'hold'} enough{now}"
            )
    holders = [each for machine in step.nodes for each, _ in machine.holders(name)]
    least = min(map(_priority, holders), default=mine)
    if least < mine:
        few = "pods of lower priority hold too little on each node"
        return f"preemption does not help: its priority is {mine}, and {few}"
    return f"preemption does not help: its priority is {mine}, the lowest of a holder {least}"


def _going(nodes: tuple[Machine, ...], name: str, wanted: int) -> Iterator[str]:
    """Yield a line about the first node that has enough of a resource once pods that are being deleted have ended."""
    for machine in nodes:
        going = {place_of(pod): has for pod, has in machine.holders(name) if _is_going(pod)}
        if going and machine.free.get(name, 0) + sum(going.values()) >= wanted:
            verb, they = ("is", "it is") if len(going) == 1 else ("are", "they are")
            yield f"wait until {named(sorted(going))}, on {machine.name}, {verb} gone: {they} being deleted"
            return


def _free_up(step: Step, machine: Machine, name: str, lack: int) -> Iterator[str]:
    """Yield lines for the user: how ``lack``, the missing amount of a resource, could become free on a node.

    The owner of a pod that is being deleted has nothing left to do.
    """
    held = sorted((each for each in machine.holders(name) if not _is_going(each[0])), key=lambda each: each[1])
    enough = next((pod for pod, has in held if has >= lack), held[-1][0] if held else None)
    if enough is not None:
        yield (
            f"ask the owner of {place_of(enough)}, on {machine.name}, or of the others: "
            f"{machine.name} lacks {number(name, lack)}"
        )
    pod = step.picture.pod or {}
    may = text_at(pod, "spec", "preemptionPolicy") != "Never"
    if may and _priority(pod) <= min((_priority(each) for each, _ in held), default=0):
        yield "a PriorityClass above the holders' lets it preempt them: kubectl get priorityclasses"


def _priority(pod: Document) -> int:
    found = at(pod, "spec", "priority")
    return found if type(found) is int else 0


def _is_going(pod: Document) -> bool:
    return bool(text_at(pod, "metadata", "deletionTimestamp"))
