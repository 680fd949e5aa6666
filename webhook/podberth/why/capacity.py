"""Finds whether a pod waits because no node offers a resource at all, or because no node offers enough."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ..devices.mig import SHARED_SUFFIX
from ..devices.resources import recognise
from ..kube.amounts import POD_SLOTS, is_device, number, shown
from ..topology.capability import share_of
from ..words import counted, did_you_mean, listed, named
from .diagnosis import Diagnosis
from .health import unhealthy
from .machines import Machine, scarce
from .picture import Picture, Ref
from .selection import selects
from .shares import ONE_EACH, are_shares, shared
from .steps import Step

_MIG: Final = "nvidia.com/mig-"
_CLASSES: Final = Ref("resource.k8s.io", ("v1", "v1beta2", "v1beta1"), "deviceclasses")
_BY_CLASS: Final = "deviceclass.resource.kubernetes.io/"


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield a reference to the DeviceClasses, if the pod asks for a resource that a DeviceClass may serve."""
    if picture.is_waiting and isinstance(picture.nodes, tuple):
        offered = {name for node in picture.nodes for name in (node.get("status") or {}).get("allocatable") or ()}
        containers = picture.spec.get("containers") or ()
        asked = {name for one in containers for name in (one.get("resources") or {}).get("limits") or ()}
        if any(is_device(name) and name not in offered for name in asked):
            yield _CLASSES


def devices(step: Step) -> dict[str, int]:
    """Return the extended resources that the pod asks for and that device plugins have to offer.

    A resource that a DeviceClass serves is in no node's allocatable (KEP-5004).
    """
    served = {(each.get("spec") or {}).get("extendedResourceName") for each in step.picture.listed(_CLASSES)}
    return {
        name: each
        for name, each in step.wants.items()
        if is_device(name) and name not in served and not name.startswith(_BY_CLASS)
    }


def offers(step: Step, machine: Machine) -> bool:
    """Return whether a node offers at least one unit of each device resource that the pod requests."""
    return all(machine.offers.get(name, 0) > 0 for name in devices(step))


def absent(step: Step) -> Diagnosis:
    """Return the diagnosis that no node offers a resource that the pod requests.

    If each resource is offered by some node, the diagnosis is that no node offers all of them.
    """
    wanted = devices(step)
    there = Counter(name for each in step.every for name in each.offers if is_device(name) and each.offers[name] > 0)
    evidence = [f"it asks for {listed([shown(name, each) for name, each in sorted(wanted.items())])}"]
    if there:
        offered = [f"{name} ({counted(nodes, 'node')})" for name, nodes in there.most_common(6)]
        evidence.append(f"nodes offer {listed(offered)}")
    else:
        evidence.append(f"none of the {counted(len(step.every), 'node')} offers any device")
    gone = [name for name in wanted if not there[name]]
    if not gone:
        return Diagnosis(
            cause="resource",
            title=f"no node offers {listed(sorted(wanted))} together",
            evidence=tuple(evidence),
            do=("ask for resources of one kind of node in each pod",),
        )
    empty = [each.name for each in step.every if any(name in each.offers for name in gone)]
    if empty:
        evidence.append(
            f"offered none now, but did before: {named(sorted(empty))}; their device plugin or GPUs have failed"
        )
    shared = f"{gone[0]}{SHARED_SUFFIX}"
    if kinds := {share_of(each.labels) for each in step.every if each.offers.get(shared, 0) > 0}:
        evidence.append(f"1 {shared} is a part of a device that other pods use too: {listed(sorted(kinds), 'or')}")
    known = recognise(gone[0]) is not None
    return Diagnosis(
        cause="resource",
        title=f"no node offers {gone[0]}{'' if known else did_you_mean(gone[0], there)}",
        evidence=tuple(evidence),
        do=_instead(gone[0], list(there)),
    )


def _instead(resource: str, there: list[str]) -> tuple[str, ...]:
    slices = [name for name in there if name.startswith(_MIG)]
    if (shared := f"{resource}{SHARED_SUFFIX}") in there:
        return (
            f"ask for 1 {shared} instead, if a share is enough",
            f"or add nodes whose device plugin offers {resource}: one without time-slicing and MPS",
        )
    if resource.startswith(_MIG) and slices:
        return (
            f"ask for a profile that is there: {listed(sorted(slices), 'or')}",
            f"or have MIG laid out with {resource.removeprefix(_MIG)}: node label nvidia.com/mig.config",
        )
    if resource == "nvidia.com/gpu" and slices:
        return (
            f"ask for a slice instead: {listed(sorted(slices), 'or')}",
            "or have a node's GPUs whole: node label nvidia.com/mig.config=all-disabled",
        )
    near = did_you_mean(resource, there).removeprefix("; did you mean ").rstrip("?")
    if near and recognise(resource) is None:
        return (f"write {near} under resources.limits in place of {resource}",)
    have = (f"ask for what nodes have, with an image for it: {listed(sorted(there)[:4], 'or')}",) if there else ()
    return (*have, f"or add nodes with a device plugin that offers {resource}")


def is_large_enough(step: Step, machine: Machine) -> bool:
    """Return whether a node would hold the pod if the node had no other pods."""
    return all(machine.offers.get(name, 0) >= each for name, each in _plugged(step).items())


def too_large(step: Step) -> Diagnosis:
    """Return the diagnosis that no node would hold the pod even if the node had no other pods."""
    name, nodes = scarce(step.nodes, _plugged(step), lambda each: each.offers)
    wanted = step.wants[name]
    most = max(each.offers.get(name, 0) for each in nodes)
    largest = [each.name for each in nodes if each.offers.get(name, 0) == most]
    ill, repair = unhealthy(nodes, name, wanted, lambda each: each.offers)
    mine = devices(step)
    beside = (
        f" that offers {listed([shown(each, mine[each]) for each in sorted(mine)])}"
        if mine and name not in mine
        else ""
    )
    # Shares of one GPU add up to no more than that GPU.
    chosen = [each for each in nodes if selects(step, each)] or nodes
    whole = max((each.offers.get(name, 0) for each in chosen if not are_shares(each, name)), default=0)
    if name not in mine:
        do = f"ask for less {name}: a node also keeps some for its own pods (kubectl describe node {largest[0]})"
    elif whole:
        do = f"ask for {number(name, whole)} or fewer in each pod, and run more pods instead of larger ones"
    else:
        do = ONE_EACH.format(name)
    return Diagnosis(
        cause="size",
        title=f"no node{beside} has {shown(name, wanted)}: the largest has {number(name, most)}",
        evidence=(
            f"it asks for {listed([shown(each, amount) for each, amount in sorted(_plugged(step).items())])}",
            f"largest: {named(sorted(largest))} with {shown(name, most)}, allocatable",
            *shared(chosen, name),
            *ill,
            *step.by_reason,
        ),
        do=(do, *repair),
    )


def _plugged(step: Step) -> dict[str, int]:
    """Return the amounts that the pod requests, in thousandths of a unit, by resource.

    The resource ``pods`` (a node's limit on pods) and the devices that DeviceClasses serve are left out.
    """
    mine = devices(step)
    return {
        name: each for name, each in step.wants.items() if name != POD_SLOTS and (name in mine or not is_device(name))
    }
