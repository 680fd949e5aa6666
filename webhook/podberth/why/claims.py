"""Finds whether ResourceClaims (DRA) hold a pod: a claim, template or class is missing, or no node has devices."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from ..devices.claims import hands_out_others, whole_of_driver
from ..kube.object_names import is_subdomain
from ..kube.unchecked import count, list_at, mapping_at, text_at
from ..topology.claimed_devices import Alike, claimed_use, free_alike
from ..words import MOST_NAMED, counted, lasting, listed, named
from .diagnosis import Diagnosis
from .held import PATIENCE_SECONDS
from .machines import Machine
from .picture import Document, Picture, Ref, holds_since, is_about, last_seen, place_of
from .steps import Step

_GROUP: Final = "resource.k8s.io"
_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
_SLICES: Final = Ref(_GROUP, _VERSIONS, "resourceslices")
_CLAIMS: Final = Ref(_GROUP, _VERSIONS, "resourceclaims")
# kubernetes pkg/controller/resourceclaim/controller.go, syncPod: the reason, and how the message begins.
_REFUSED: Final = "FailedResourceClaimCreation"
_ABOUT: Final = re.compile(r"PodResourceClaim (?P<entry>[^:\s]+): ")
# apiserver pkg/admission/plugin/resourcequota/controller.go.
_QUOTA: Final = re.compile(r"exceeded quota: (?P<name>[^,\s]+)")


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield references to the claims and templates that a waiting pod names, the DeviceClasses and ResourceSlices."""
    for entry in _entries(picture):
        if template := text_at(entry, "resourceClaimTemplateName"):
            yield _template(picture, template)
        if name := _claim_name(picture, entry):
            yield _claim(picture, name)
    if any(_unmade(picture)):
        yield picture.events
    classes = list(_classes(picture))
    yield from map(_class, classes)
    if classes:
        yield _SLICES
    # All claims may be thousands: they are read only if they may say who holds the accelerators.
    if _unallocated(picture) and not all(hands_out_others(picture.one(_class(name)) or {}) for name in classes):
        yield _CLAIMS


def missing(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that a claim or template that the pod names does not exist, or was not made yet.

    None if all claims exist.
    """
    for entry in _entries(picture):
        name, template = _claim_name(picture, entry), text_at(entry, "resourceClaimTemplateName")
        if template and not name and picture.lacks(_template(picture, template)):
            return Diagnosis(
                cause="claim",
                title=f"ResourceClaimTemplate {template} does not exist",
                evidence=(
                    f"spec.resourceClaims names it, in namespace {picture.namespace}; no claim can be made of it",
                ),
                do=(
                    f"create ResourceClaimTemplate {template} in namespace {picture.namespace}",
                    "templates that podberth's policies name are made by its controller: docs/controller.md",
                ),
            )
        if name and picture.lacks(_claim(picture, name)):
            return Diagnosis(
                cause="claim",
                title=f"ResourceClaim {name} does not exist",
                evidence=(f"spec.resourceClaims names it, in namespace {picture.namespace}",),
                do=(f"create ResourceClaim {name}, or change spec.resourceClaims of the template",),
            )
    for device_class in _classes(picture):
        if picture.lacks(_class(device_class)):
            return Diagnosis(
                cause="claim",
                title=f"DeviceClass {device_class} does not exist",
                evidence=("a claim of the pod asks for devices of it",),
                do=("kubectl get deviceclasses, and write one of these into the claim or its template",),
            )
    return None


def refused(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that Kubernetes cannot make a claim of a template, by the pod's Events; else None.

    The scheduler does not look at a pod before its claims are made (plugin DynamicResources, PreEnqueue).
    """
    templates = dict(_unmade(picture))
    uids = (text_at(picture.pod, "metadata", "uid"),)
    events = [
        (each, match["entry"], " ".join(text_at(each, "message").split()))
        for each in (picture.listed(picture.events) if templates else ())
        if text_at(each, "reason") == _REFUSED and is_about(each, uids)
        if (match := _ABOUT.match(text_at(each, "message"))) and match["entry"] in templates
    ]
    if not events:
        return None
    event, entry, message = max(events, key=lambda each: last_seen(each[0]))
    quota = _QUOTA.search(message)
    tried = f"the last try to make a claim of it was {lasting(picture.age(last_seen(event)))} ago"
    if quota is None or not is_subdomain(quota["name"]):
        return Diagnosis(
            cause="claim",
            title=f"Kubernetes cannot make a ResourceClaim of ResourceClaimTemplate {templates[entry]}",
            evidence=(f"{tried}; until then no scheduler looks at the pod", message),
            do=("change what the message names",),
        )
    return Diagnosis(
        cause="claim",
        title=f"ResourceQuota {quota['name']} leaves no room for a ResourceClaim of template {templates[entry]}",
        evidence=(f"{tried}; until then no scheduler looks at the pod", message),
        do=(
            "ask for less, or delete ResourceClaims of the namespace, or have the quota raised",
            f"kubectl describe quota {quota['name']} -n {picture.namespace}",
        ),
    )


def awaited(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that no claim was made of a template for a while, and no Event says why; else None."""
    templates = list(dict(_unmade(picture)).values())
    waited = picture.waited
    if not templates or waited <= PATIENCE_SECONDS:
        return None
    return Diagnosis(
        cause="claim",
        title=f"no ResourceClaim is made of ResourceClaimTemplate {listed(templates)} for {lasting(waited)}",
        evidence=("the pod's status names no claim of it, and until then no scheduler looks at the pod",),
        do=(
            f"kubectl get events -n {picture.namespace} --field-selector reason={_REFUSED}",
            "see whether kube-controller-manager runs: it makes the claims",
        ),
    )


def allocated_here(step: Step, machine: Machine) -> bool:
    """Return whether a node has the devices that the pod's claims already hold."""
    return all(machine.is_selected(terms) for _, terms in _allocated(step.picture))


def elsewhere(step: Step) -> Diagnosis:
    """Return the diagnosis that the devices of an allocated claim are on nodes that the pod cannot use."""
    names = [name for name, _ in _allocated(step.picture)]
    return Diagnosis(
        cause="claim elsewhere",
        title=f"the devices of ResourceClaim {listed(names)} are on a node that it cannot use",
        evidence=(f"nodes that fit otherwise: {named(sorted(each.name for each in step.nodes))}", *step.by_reason),
        do=("delete the pods that share the claim, or let each pod have a claim of its own by a template",),
    )


def unallocated(step: Step) -> Diagnosis | None:
    """Return the diagnosis that the scheduler could not allocate a claim of the pod on any node; else None."""
    picture = step.picture
    waits = _unallocated(picture)
    if not waits:
        return None
    holders, owners = _holders(step)
    slices = picture.listed(_SLICES)
    drivers: dict[str, int] = {}
    for each in slices:
        driver = text_at(each, "spec", "driver")
        drivers[driver] = drivers.get(driver, 0) + len(list_at(each, "spec", "devices"))
    there = [f"{counted(devices, 'device')} of {driver}" for driver, devices in sorted(drivers.items())]
    asked = [listed(texts, "or") for texts in _asked(picture)]
    if found := _unlike(step, [*(f"it asks for {each}" for each in asked), *holders]):
        return found
    return Diagnosis(
        cause="claim unallocated",
        title=f"no node that fits has free devices for ResourceClaim {listed(waits)}",
        evidence=(
            f"it asks for {listed(asked)}" if asked else "its requests are not known",
            f"drivers publish {listed(there)}, free and held" if there else "no driver publishes any ResourceSlice",
            *holders,
        ),
        do=(
            "install the DRA driver of these devices, or see why it publishes none: kubectl get resourceslices"
            if not there
            else "wait until a claim of them is released: kubectl get resourceclaims -A",
            *([f"ask the owner of {owners[0]}, or of the others"] if owners else ()),
        ),
    )


def _unlike(step: Step, evidence: list[str]) -> Diagnosis | None:
    """Return the diagnosis that enough devices are free on a node, but too few share an attribute; else None."""
    for name, claim in _found(step.picture):
        driver, wanted = _alike_wanted(step.picture, claim)
        for constraint in list_at(claim, "spec", "devices", "constraints"):
            attribute = text_at(constraint, "matchAttribute")
            if not (attribute and driver) or not _covers(constraint, claim):
                continue
            free = _alike(step, driver, attribute, step.picture.listed(_CLAIMS))
            there, node = max(((each.free, node) for node, each in free.items()), default=(0, ""))
            most = max((each.alike for each in free.values()), default=0)
            if not most < wanted <= there:
                continue
            ever = max(each.alike for each in _alike(step, driver, attribute, []).values())
            nearest = sorted(free, key=lambda each: (-free[each].alike, -free[each].free, each))[:MOST_NAMED]
            share = {0: "none has", 1: "no two on one node share"}.get(most, f"at most {most} on one node share")
            return Diagnosis(
                cause="claim unallocated",
                title=f"{counted(there, 'device')} of {driver} {'is' if there == 1 else 'are'} free on {node}, but "
                f"{share} {attribute}; ResourceClaim {name} wants {wanted}",
                evidence=(
                    f"constraint of the claim: matchAttribute {attribute}",
                    *(f"{each}: {free[each].free} free, at most {free[each].alike} alike" for each in nearest),
                    *evidence,
                ),
                do=(
                    f"ask for {most}, or drop the constraint"
                    if most
                    else "drop the constraint: no free device meets it",
                    *(["or wait until a claim of such devices is released"] if ever >= wanted else ()),
                ),
            )
    return None


def _alike(step: Step, driver: str, attribute: str, claims: list[Any]) -> dict[str, Alike]:
    """Return the devices that share an attribute on the nodes that fit otherwise, free of ``claims``."""
    found = free_alike(step.picture.listed(_SLICES), claims, driver, attribute)
    return {each.name: found[each.name] for each in step.nodes if each.name in found}


def _alike_wanted(picture: Picture, claim: Document) -> tuple[str, int]:
    """Return (driver, number) of the whole accelerators that a claim waits for; ("", 0) if that is not certain.

    It is uncertain for requests with selectors, tolerations or alternatives, for several DeviceClasses, and if the
    claims that hold devices were not read.
    """
    requests = [mapping_at(each, "exactly") or each for each in list_at(claim, "spec", "devices", "requests")]
    drivers = {whole_of_driver(picture.one(_class(text_at(each, "deviceClassName"))) or {}) for each in requests}
    other = ("firstAvailable", "selectors", "tolerations", "adminAccess", "capacity")
    plain = all(_count(each) and not any(each.get(field) for field in other) for each in requests)
    if not plain or len(drivers) != 1 or picture.one(_CLAIMS) is None or mapping_at(claim, "status", "allocation"):
        return "", 0
    return drivers.pop(), sum(map(_count, requests))


def _covers(constraint: Document, claim: Document) -> bool:
    """Return whether a constraint is about all requests of a claim."""
    about = list_at(constraint, "requests")
    return not about or {text_at(each, "name") for each in list_at(claim, "spec", "devices", "requests")} <= set(about)


def _unallocated(picture: Picture) -> list[str]:
    """Return the names of the pod's claims without devices, if the scheduler says that it cannot allocate them."""
    if "cannot allocate" not in text_at(picture.scheduled, "message"):
        return []
    return [name for name, claim in _found(picture) if not mapping_at(claim, "status", "allocation")]


def _holders(step: Step) -> tuple[list[str], list[str]]:
    """Return (lines about the accelerators that claims hold on nodes that fit, the pods that hold them).

    The nodes with the most free come first, and so do their pods.
    """
    use = claimed_use(step.picture.listed(_SLICES), step.picture.listed(_CLAIMS))
    held = [(each.name, device) for each in step.nodes for device in use.get(each.name, ()) if device.holders]
    pods = {(each.name, place_of(pod)): pod for each in step.nodes for pod in each.held_by}
    held.sort(key=lambda pair: (-pair[1].free, pair[0]))
    lines = []
    for node, device in held[:MOST_NAMED]:
        texts = []
        for each in device.holders:
            pod = pods.get((node, f"{each.namespace}/{each.pod}"))
            age = f", {lasting(step.picture.age(holds_since(pod)))}" if pod is not None else ""
            texts.append(f"{each.namespace}/{each.pod} ({each.units}{age})")
        lines.append(f"{node}: {device.free} of {device.allocatable} {device.resource} free; held by {named(texts)}")
    if len(held) > MOST_NAMED:
        lines.append(f"held on {counted(len({node for node, _ in held}), 'node')} that fit otherwise")
    return lines, [f"{pod.namespace}/{pod.pod}, on {node}" for node, device in held for pod in device.holders]


def of_running(picture: Picture) -> Iterator[tuple[str, Ref]]:
    """Yield (the name by which containers use a claim, the reference to the claim) for the claims that a pod has."""
    for entry in list_at(picture.spec, "resourceClaims"):
        if name := _claim_name(picture, entry):
            yield text_at(entry, "name"), _claim(picture, name)


def slices_of(node: str) -> Ref:
    """Return the reference to the ResourceSlices of a node, which the API server selects."""
    return replace(_SLICES, fields=f"spec.nodeName={node}")


def _entries(picture: Picture) -> list[Any]:
    return list_at(picture.spec, "resourceClaims") if picture.is_waiting else []


def _claim_name(picture: Picture, entry: Document) -> str:
    """Return the name of the claim for an item of a pod's ``resourceClaims``; empty if the claim was not made yet."""
    made = {text_at(each, "name"): each for each in list_at(picture.status, "resourceClaimStatuses")}
    return text_at(entry, "resourceClaimName") or text_at(made.get(text_at(entry, "name")), "resourceClaimName")


def _unmade(picture: Picture) -> Iterator[tuple[str, str]]:
    """Yield (item of ``resourceClaims``, existing template) for each claim that the pod's status does not name yet.

    An item without a claim's name in the status needs no claim (core/v1 PodResourceClaimStatus).
    """
    made = {text_at(each, "name") for each in list_at(picture.status, "resourceClaimStatuses")}
    for entry in _entries(picture):
        name, template = text_at(entry, "name"), text_at(entry, "resourceClaimTemplateName")
        if template and name not in made and picture.one(_template(picture, template)) is not None:
            yield name, template


def _found(picture: Picture) -> Iterator[tuple[str, Document]]:
    for entry in _entries(picture):
        name = _claim_name(picture, entry)
        claim = picture.one(_claim(picture, name)) if name else None
        if claim is not None:
            yield name, claim


def _allocated(picture: Picture) -> list[tuple[str, list[Any]]]:
    """Return (claim, nodeSelectorTerms) for each allocated claim whose devices only some nodes can use.

    The terms select these nodes.
    """
    found = [
        (name, list_at(claim, "status", "allocation", "nodeSelector", "nodeSelectorTerms"))
        for name, claim in _found(picture)
    ]
    return [(name, terms) for name, terms in found if terms]


def _requests(picture: Picture) -> Iterator[list[Document]]:
    """Yield the alternatives of each request of the pod's claims; most requests have one."""
    for _, claim in _found(picture):
        for request in list_at(claim, "spec", "devices", "requests"):
            # v1 and v1beta2 have the request under `exactly` or as alternatives; v1beta1 has it flat.
            yield list_at(request, "firstAvailable") or [mapping_at(request, "exactly") or request]


def _asked(picture: Picture) -> Iterator[list[str]]:
    """Yield, for each request of the pod's claims, the devices that each alternative asks for, as text."""
    for request in _requests(picture):
        found = [(one, name) for one in request if (name := text_at(one, "deviceClassName"))]
        if found:
            yield [f"{_count(one) or 'all'} of DeviceClass {name}" for one, name in found]


def _count(request: Document) -> int:
    """Return the number of devices of a request; 0: all devices of a node."""
    return 0 if text_at(request, "allocationMode") == "All" else count(request.get("count"), 1)


def _classes(picture: Picture) -> Iterator[str]:
    every = (text_at(one, "deviceClassName") for request in _requests(picture) for one in request)
    yield from dict.fromkeys(filter(None, every))


def _claim(picture: Picture, name: str) -> Ref:
    return Ref(_GROUP, _VERSIONS, "resourceclaims", picture.namespace, name)


def _template(picture: Picture, name: str) -> Ref:
    return Ref(_GROUP, _VERSIONS, "resourceclaimtemplates", picture.namespace, name)


def _class(name: str) -> Ref:
    return Ref(_GROUP, _VERSIONS, "deviceclasses", name=name)
