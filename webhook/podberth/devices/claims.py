"""DRA objects: the devices that a ResourceClaim asks for, and the accelerators that a DeviceClass offers.

The objects are unchecked. No function here raises an exception, and unreadable parts of an object count as unknown.
https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation and KEP-5004.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from ..kube.object_names import NamespacedName
from ..kube.unchecked import at, list_at, mapping_at, text_at
from .resources import (
    CHANNEL_CLASS,
    COUNTED_KINDS,
    DEVICE_CLASS_PREFIX,
    DEVICE_CLASSES,
    OTHER_CLASSES,
    Accelerator,
    recognise,
)

ClaimNames: TypeAlias = frozenset[tuple[str, str]]
"""The ResourceClaims that the pods of a group share: pairs of (the claim's name in the pod, the template's name).

Claims that a pod refers to by ``resourceClaimName`` are shared in any case, and are not listed.
"""
Accelerators: TypeAlias = dict[str, Accelerator]
"""A mapping from an extended resource, by which pods request an accelerator, to the accelerator."""

# https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin, intel-resource-drivers-for-kubernetes
# and ROCm/k8s-gpu-dra-driver: the drivers whose devices are accelerators, with their makers.
DRIVERS: Final[Mapping[str, str]] = {
    "gpu.nvidia.com": "nvidia",
    "gpu.intel.com": "intel",
    "gaudi.intel.com": "intel",
    "gpu.amd.com": "amd",
}
"""The makers of accelerators, by the name of their DRA driver."""
# The patterns by which selectors of DeviceClasses name a driver, and the sort of an NVIDIA device (attribute `type`).
_DRIVER: Final = re.compile(r"""\bdevice\.driver\s*==\s*["']([^"']+)["']""")
_MIG: Final = re.compile(r"""\.type\s*==\s*["']mig["']""")
_VFIO: Final = re.compile(r"""\.type\s*==\s*["']vfio["']""")
# The API's own limit for requests, selectors and more (kubernetes/api resource/v1 DeviceRequestsMaxSize,
# DeviceSelectorsMaxSize): an API server stores no longer lists.
_MOST: Final = 32
_LARGEST_COUNT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """The devices of one DeviceClass that a claim asks for.

    ``device_class`` is that of the first alternative if a request has alternatives, and empty if they differ in the
    class and podberth does not know all of these as accelerators. ``count`` is 0 if the alternatives differ in the
    number, or if the request is for all devices of a node.
    """

    device_class: str
    count: int
    parts: tuple[tuple[str, int], ...] = ()
    """The claim's requests for the DeviceClass, as pairs of (name of the request, number of devices)."""


class ComputeDomain(NamedTuple):
    """The kept fields of a ComputeDomain: the name of its channel template, and the devices that the template requests.

    So the devices of a pod's claim are known before the driver makes the ResourceClaimTemplate.
    """

    template: str
    requests: tuple[ClaimRequest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDevices:
    """The known DRA objects of a cluster: the devices of claims, of templates and of DeviceClasses."""

    claims: Mapping[NamespacedName, tuple[ClaimRequest, ...]] = field(default_factory=dict)
    """The requests of ResourceClaims that users have made by hand, by namespace and name."""
    templates: Mapping[NamespacedName, tuple[ClaimRequest, ...]] = field(default_factory=dict)
    """The requests of ResourceClaimTemplates, by namespace and name."""
    declared: Mapping[str, tuple[ClaimRequest, ...]] = field(default_factory=dict)
    """The requests of templates that policies declare, by the template's name in the policy, even before a template
    exists.
    """
    groups: Mapping[NamespacedName, ClaimNames] = field(default_factory=dict)
    """The claims that the pods of a native PodGroup share, by the PodGroup's namespace and name.

    PodGroups without shared claims are left out.
    """
    resources: Mapping[str, Accelerator] = field(default_factory=dict)
    """The accelerators of GPU drivers' DeviceClasses, by extended resource, except resources in ``devices.resources``.
    """
    others: frozenset[str] = frozenset()
    """The names of DeviceClasses whose drivers have no accelerators."""

    def asked(self, namespace: str, claim: Mapping[str, Any]) -> tuple[ClaimRequest, ...] | None:
        """Return the devices that an item of a Pod's ``resourceClaims`` requests; None if the claim is unknown."""
        template, name = claim.get("resourceClaimTemplateName"), claim.get("resourceClaimName")
        if isinstance(template, str):
            made = self.templates.get((namespace, template))
            return self.declared.get(template) if made is None else made
        return self.claims.get((namespace, name)) if isinstance(name, str) else None

    def in_stead(
        self, namespace: str, claim: Mapping[str, Any], resource: str, requests: Collection[str] = ()
    ) -> int | None:
        """Return the number of a claim's devices that can replace an extended resource in a pod; None if unknown.

        For an accelerator resource, the claim's accelerators count. For any other resource, the claim's devices that
        are no accelerators count. If the claim has no such devices, its devices of unknown DeviceClasses count as a
        substitute. If it has none of these either, and podberth does not know the resource, the claim's accelerators
        count as a substitute.

        The result is None if the claim or a number of devices is unknown. It is also None if the substitutes belong to
        several DeviceClasses, because it is unknown which of these DeviceClasses replaces the resource.

        Args:
            namespace: the pod's namespace.
            claim: the item of the pod's ``resourceClaims``.
            resource: the name of the extended resource.
            requests: the names of the claim's requests that count; empty: all requests.
        """
        accelerator = recognise(resource) or self.resources.get(resource)
        wanted = accelerator is not None and accelerator.kind in COUNTED_KINDS
        sorts: dict[bool | None, dict[str, list[int]]] = {}
        for each in (asked := self.asked(namespace, claim)) or ():
            named = [count for name, count in each.parts or (("", each.count),) if not requests or name in requests]
            kind = self.kind(each.device_class)
            if named:
                sorts.setdefault(kind != "none" if kind else None, {})[each.device_class] = named
        found = sorts.get(wanted) or sorts.get(None, {})
        if accelerator is None and not found:
            found = sorts.get(not wanted, {})
        if asked is None or (len(found) > 1 and wanted not in sorts):
            return None
        counts = [count for named in found.values() for count in named]
        return sum(counts) if all(counts) else None

    def kind(self, device_class: str) -> str:
        """Return the ``AcceleratorKind`` of a DeviceClass's devices, such as "whole" or "mig".

        "none" if the devices are no accelerators, "" if podberth does not know the DeviceClass.
        """
        found = DEVICE_CLASSES.get(device_class) or self.resources.get(DEVICE_CLASS_PREFIX + device_class)
        if found is not None:
            return found.kind
        return "none" if device_class in OTHER_CLASSES or device_class in self.others else ""

    def shares(self, namespace: str, group: object, claim: Mapping[str, Any]) -> bool:
        """Return whether other Pods share the claim of an item in a Pod's ``resourceClaims``.

        Any Pod may use a claim by the claim's name. A claim from a template is shared by all pods of a PodGroup if the
        PodGroup lists an equal name and template (core/v1 PodResourceClaim, gate DRAWorkloadResourceClaims). ``group``
        is the name of the Pod's native PodGroup, unchecked; None if the Pod has no PodGroup.
        """
        if isinstance(claim.get("resourceClaimName"), str):
            return True
        listed = self.groups.get((namespace, group), ()) if self.groups and isinstance(group, str) else ()
        return (claim.get("name"), claim.get("resourceClaimTemplateName")) in listed


NO_DEVICES: Final = KnownDevices()


def is_generated(claim: Mapping[str, Any]) -> bool:
    """Return whether a ResourceClaim was generated for a Pod, from a claim template or for an extended resource.

    Sources: resourceclaim.PodResourceClaimAnnotation and resourceapi.ExtendedResourceClaimAnnotation.
    """
    annotations = mapping_at(claim, "metadata", "annotations")
    return (
        "resource.kubernetes.io/pod-claim-name" in annotations
        or "resource.kubernetes.io/extended-resource-claim" in annotations
    )


def read_claim(document: Mapping[str, Any]) -> tuple[ClaimRequest, ...]:
    """Return the devices that a ResourceClaim requests, by DeviceClass, in the order of the requests.

    A ResourceClaimTemplate's ``spec`` can be passed as well, because that spec contains a claim's spec.
    """
    return _device_requests(document, "spec")


def read_template(document: Mapping[str, Any]) -> tuple[ClaimRequest, ...]:
    """Return the devices that each claim from a ResourceClaimTemplate requests, by DeviceClass."""
    return _device_requests(document, "spec", "spec")


def read_compute_domain(document: Mapping[str, Any]) -> ComputeDomain | None:
    """Return the channel template of a ComputeDomain; None if the ComputeDomain does not name the template.

    The ComputeDomain's driver makes the template. A claim from the template requests one channel or all channels
    (resource.nvidia.com/v1beta1, ComputeDomainChannelSpec).
    """
    channel = mapping_at(document, "spec", "channel")
    name = text_at(channel, "resourceClaimTemplate", "name")
    if not name:
        return None
    return ComputeDomain(name, (ClaimRequest(CHANNEL_CLASS, 0 if channel.get("allocationMode") == "All" else 1),))


def shared_claims(pod_group: Mapping[str, Any]) -> ClaimNames:
    """Return the claims that all pods of a native PodGroup share (scheduling/v1alpha2).

    A claim is a pair: the name of the claim in the pods, and the name of the claim's ResourceClaimTemplate.
    """
    found = (
        (each.get("name"), each.get("resourceClaimTemplateName"))
        for each in _objects(pod_group, "spec", "resourceClaims")
    )
    return frozenset((name, made) for name, made in found if isinstance(name, str) and isinstance(made, str))


def _device_requests(document: Mapping[str, Any], *path: str) -> tuple[ClaimRequest, ...]:
    parts: dict[str, list[tuple[str, int]]] = {}
    for request in _objects(document, *path, "devices", "requests"):
        found = _device_request(request)
        if found is not None:
            parts.setdefault(found[0], []).append((text_at(request, "name"), found[1]))
    return tuple(ClaimRequest(name, _total(each), tuple(each)) for name, each in parts.items())


def _total(parts: list[tuple[str, int]]) -> int:
    """Return the sum of the numbers of devices in ``parts``; 0 if one number is 0, which means unknown."""
    counts = [count for _, count in parts]
    return min(sum(counts), _LARGEST_COUNT) if all(counts) else 0


def _device_request(request: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return (the DeviceClass, the number of devices) of a claim's request; None for a request with adminAccess.

    A request with adminAccess is for devices that other pods use. In the API version v1beta1, the request has no field
    ``exactly``, but has the fields of ``exactly``.
    """
    found = [_exactly(each) for each in _objects(request, "firstAvailable")]
    if found:
        classes, counts = {name for name, _ in found}, {count for _, count in found}
        is_known = len(classes) == 1 or classes <= DEVICE_CLASSES.keys()
        return found[0][0] if is_known else "", counts.pop() if len(counts) == 1 else 0
    exactly = mapping_at(request, "exactly") or request
    return None if exactly.get("adminAccess") is True else _exactly(exactly)


def _exactly(asked: Mapping[str, Any]) -> tuple[str, int]:
    count = asked.get("count", 1)
    every = asked.get("allocationMode") not in (None, "", "ExactCount")
    known = type(count) is int and 0 < count <= _LARGEST_COUNT and not every
    return text_at(asked, "deviceClassName"), count if known else 0


def class_resources(device_class: Mapping[str, Any]) -> frozenset[str]:
    """Return the extended resources by which pods can request devices of a DeviceClass (KEP-5004)."""
    explicit = text_at(device_class, "spec", "extendedResourceName")
    implicit = DEVICE_CLASS_PREFIX + str(at(device_class, "metadata", "name"))
    return frozenset(filter(None, (implicit, explicit)))


def class_accelerators(device_class: Mapping[str, Any]) -> Accelerators:
    """Return a mapping from each extended resource of a DeviceClass to the accelerator of the class.

    Resources that podberth knows by name (``recognise``) are left out. The mapping is empty if neither the name of the
    class nor the driver in the selectors of the class is known to have accelerators.
    """
    accelerator = _class_accelerator(device_class)
    if accelerator is None:
        return {}
    return {name: accelerator for name in class_resources(device_class) if recognise(name) is None}


def hands_out_others(device_class: Mapping[str, Any]) -> bool:
    """Return whether a DeviceClass has no accelerators, by the name and by the drivers in the selectors.

    False if the selectors name no driver.
    """
    drivers = {driver for each in _expressions(device_class) for driver in _DRIVER.findall(each)}
    return bool(drivers) and drivers.isdisjoint(DRIVERS) and _class_accelerator(device_class) is None


def whole_of_driver(device_class: Mapping[str, Any]) -> str:
    """Return the driver if a DeviceClass has all its whole accelerators and nothing else; empty if that is unknown.

    NVIDIA's driver has MIG instances beside whole GPUs, so its class names the type (chart of dra-driver-nvidia-gpu).
    """
    found = ["".join(each.replace('"', "'").split()) for each in _expressions(device_class)]
    for driver, vendor in DRIVERS.items():
        of_type = f"&&device.attributes['{driver}'].type=='gpu'" if vendor == "nvidia" else ""
        if found == [f"device.driver=='{driver}'{of_type}"]:
            return driver
    return ""


def _class_accelerator(device_class: Mapping[str, Any]) -> Accelerator | None:
    """Return the accelerator of a DeviceClass, from its name or the only driver in its selectors; None if unknown."""
    known = DEVICE_CLASSES.get(str(at(device_class, "metadata", "name")))
    if known is not None:
        return known
    expressions = list(_expressions(device_class))
    drivers = {driver for each in expressions for driver in _DRIVER.findall(each)}
    vendor = DRIVERS.get(drivers.pop()) if len(drivers) == 1 else None
    if vendor is None:
        return None
    if any(map(_VFIO.search, expressions)):
        return Accelerator(vendor, "passthrough")
    return Accelerator(vendor, "mig" if any(map(_MIG.search, expressions)) else "whole")


def _expressions(device_class: Mapping[str, Any]) -> Iterator[str]:
    return (text_at(selector, "cel", "expression") for selector in _objects(device_class, "spec", "selectors"))


def _objects(document: Mapping[str, Any], *path: str) -> list[Mapping[str, Any]]:
    return [each for each in list_at(document, *path) if isinstance(each, Mapping)][:_MOST]
