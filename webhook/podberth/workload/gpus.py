"""Reads the accelerators that a Pod asks for, as facts for policies and the topology index.

``devices.resources`` lists the resources that are accelerators. The amounts of the whole pod are computed as the
scheduler does (KEP-753: sidecars run beside the main containers, an init container beside the sidecars started before
it). No function of this module checks whether a request is sensible.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from ..devices.claims import NO_DEVICES, ClaimRequest, KnownDevices
from ..devices.resources import COUNTED_KINDS, DEVICE_CLASS_PREFIX, recognise
from ..kinds.roles import Asks
from ..kube.pod import Container, annotations, containers, spec
from ..kube.positions import render_path
from ..kube.quantity import LARGEST_AMOUNT, mebibytes, parse_count, reserved
from ..wellknown import GPU_MEMORY_ANNOTATION
from .dialects import foreign_dialect

Kind = Literal["none", "whole", "mig", "shared", "mixed", "claim"]

_KINDS: Final[dict[str, Kind]] = {"whole": "whole", "mig": "mig", "shared": "shared"}

_UNKNOWN: Final = (ClaimRequest("", 0),)
_MAYBE_GPUS: Final = frozenset({*COUNTED_KINDS, ""})
"""The kinds of claims that are, or may be, for accelerators; empty means an unknown kind."""


class GpuRequest(NamedTuple):
    """The amount of one accelerator resource that one container asks for; never zero.

    ``init`` is True for an init container that ends before the main containers start, and False for a sidecar.
    """

    container: str
    init: bool
    resource: str
    quantity: int
    kind: str
    vendor: str
    profile: str


@dataclass(frozen=True, slots=True)
class GpuClaim:
    """The devices of one DeviceClass that a Pod asks for by a DRA claim.

    A Pod only names a claim. ``device_class`` is empty if the claim is unknown or names no class. ``count`` is 0 if the
    claim is unknown or states no number. For a claim for devices of several classes, there is one object of this Python
    class for each DeviceClass. For an implicit extended resource of a GPU class, ``device_class`` and ``count`` are
    known, but ``name`` is empty.
    """

    name: str
    device_class: str
    count: int
    kind: str = ""
    """The kind of the devices: ``whole``, ``mig``, ``passthrough``, or ``none`` for a NIC or an IMEX channel; empty:
    unknown.
    """
    shared: bool = False
    """Whether other Pods use the same devices: the pod names an existing claim, or its PodGroup shares the claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFacts:
    """The accelerators that a Pod asks for.

    The variable ``gpu`` of policies has all fields but ``totals``, ``dialect`` and ``problems``.
    """

    count: int = 0
    """The number of GPUs, MIG instances and shares that the scheduler reserves for the Pod, of all resources."""
    per_container: int = 0
    """The largest number of GPUs, MIG instances and parts of shared GPUs that one container asks for."""
    kind: Kind = "none"
    vendor: str = ""
    """The vendor of the accelerators; ``mixed`` if there are several."""
    memory_mib: int = 0
    """MiB of GPU memory that the Pod declares as its need; 0: the Pod declares none, or the value cannot be read."""
    requests: tuple[GpuRequest, ...] = ()
    claims: tuple[GpuClaim, ...] = ()
    totals: tuple[tuple[str, int], ...] = ()
    """The amount of each resource that the scheduler reserves, sorted by name."""
    dialect: str = ""
    """The sharing dialect in which the Pod asks for GPUs (``workload.dialects``); empty: the Pod uses no dialect."""
    problems: tuple[str, ...] = ()
    """Messages about unreadable values, which do not count: ``where: got X, want Y``."""

    @property
    def devices(self) -> int:
        """``count`` plus the devices of claims for accelerators, and for devices of unknown kind.

        A claim for an unknown number of devices counts as one. A DeviceClass that the Pod asks for by a resource is
        part of ``count``.
        """
        claimed = sum([max(each.count, 1) for each in self.claims if each.name and each.kind != "none"])
        return min(self.count + claimed, LARGEST_AMOUNT)

    def as_cel(self) -> dict[str, Any]:
        """Return the value of the variable ``gpu`` that policies read."""
        return {
            "count": self.count,
            "devices": self.devices,
            "perContainer": self.per_container,
            "kind": self.kind,
            "vendor": self.vendor,
            "memoryMiB": self.memory_mib,
            "requests": [request._asdict() for request in self.requests],
            "claims": [
                {
                    "name": claim.name,
                    "deviceClass": claim.device_class,
                    "count": claim.count,
                    "kind": claim.kind,
                    "shared": claim.shared,
                }
                for claim in self.claims
            ],
        }


def gpu_facts(
    pod: Mapping[str, Any], namespace: str = "", devices: KnownDevices = NO_DEVICES, *, believe_claims: bool = True
) -> GpuFacts:
    """Return the accelerators that the Pod asks for. If the Pod's shape has been checked, the function never raises.

    Args:
        pod: the Pod.
        namespace: the namespace of the review; a pod that a controller creates may have no ``metadata.namespace``.
        devices: the known claims.
        believe_claims: whether the result depends on the content of the claims. If False, two pods of one group get
            equal results even if the content of a claim becomes known after the first pod's review.
    """
    problems: list[str] = []
    found: list[tuple[Container, GpuRequest]] = []
    for container in containers(pod):
        resources = container.body.get("resources")
        if resources and container.kind != "ephemeral":  # ephemeral containers have no resources
            found += [(container, request) for request in _requests(container, resources, devices, problems)]
    memory_mib = _memory_mib(pod, problems)
    claimed = _claims(pod, namespace, devices)
    if not found:
        return GpuFacts(
            kind=_kind_of(claimed, believe_claims=believe_claims),
            memory_mib=memory_mib,
            claims=claimed,
            dialect=foreign_dialect(pod),
            problems=tuple(problems),
        )
    requests = tuple([request for _, request in found])
    totals = reserved((container.kind, request.resource, request.quantity) for container, request in found)
    return GpuFacts(
        count=min(sum(totals.values()), LARGEST_AMOUNT),
        per_container=_largest(found),
        kind=_KINDS.get(_one_of({request.kind for request in requests}), "mixed"),
        vendor=_one_of({request.vendor for request in requests}),
        memory_mib=memory_mib,
        requests=requests,
        claims=claimed + _class_claims(totals, devices),
        totals=tuple(sorted(totals.items())),
        dialect=foreign_dialect(pod),
        problems=tuple(problems),
    )


def facts_of(
    asks: Asks, namespace: str = "", devices: KnownDevices = NO_DEVICES, *, believe_claims: bool = True
) -> GpuFacts:
    """Return the accelerators that a pod asks for, if only ``asks`` is known about the pod.

    ``asks`` has the amounts of resources, and the claims. ``namespace`` is the pod's namespace, and ``devices`` has the
    known claims. If ``believe_claims`` is False, the result does not depend on the content of claims.
    """
    if not (asks.amounts or asks.claims):
        return _NO_GPUS
    claims = [dict(each) for each in asks.claims]
    used = [{"name": each["name"]} for each in claims]
    main = {"name": "", "resources": {"limits": dict(asks.amounts), "claims": used}}
    pod = {"spec": {"containers": [main], "resourceClaims": claims}}
    return gpu_facts(pod, namespace, devices, believe_claims=believe_claims)


_NO_GPUS: Final = GpuFacts()


def may_ask_for_accelerators(asks: Asks, namespace: str, devices: KnownDevices, *, believe_claims: bool) -> bool:
    """Return whether ``asks`` has an accelerator resource, or a claim that is or may be for accelerators.

    If ``believe_claims`` is False, the content of the known claims is ignored.
    """
    for name, _ in asks.amounts:
        found = recognise(name) or devices.resources.get(name)
        if found is not None and found.kind in COUNTED_KINDS:
            return True
    return bool(asks.claims) and facts_of(asks, namespace, devices, believe_claims=believe_claims).kind != "none"


def _requests(
    container: Container, resources: dict[str, Any], devices: KnownDevices, problems: list[str]
) -> Iterator[GpuRequest]:
    """Yield the accelerator requests of one container.

    The amount is the limit, which the API server copies to an absent request. Without a limit, the amount is the
    request: the API server would refuse the pod, but ``podberth check`` reports on such manifests, too.
    """
    limits, requested = resources.get("limits") or {}, resources.get("requests") or {}
    for resource in {**limits, **requested}:
        # Names without a domain are Kubernetes' own.
        accelerator = recognise(resource) or devices.resources.get(resource) if "/" in resource else None
        if accelerator is None or accelerator.kind not in COUNTED_KINDS:
            continue
        amount = limits.get(resource)
        try:
            quantity = parse_count(requested.get(resource) if amount is None else amount)
        except ValueError as error:
            field = "requests" if amount is None else "limits"
            problems.append(f"{render_path(container.path)}.resources.{field}[{resource}]: {error}")
            continue
        if quantity:
            yield GpuRequest(
                container=container.name,
                init=container.kind == "init",
                resource=resource,
                quantity=quantity,
                kind=accelerator.kind,
                vendor=accelerator.vendor,
                profile=accelerator.profile,
            )


def _largest(found: list[tuple[Container, GpuRequest]]) -> int:
    """Return the largest total of accelerators in one container.

    Containers are distinguished by index, because names may repeat.
    """
    amounts: dict[tuple[str | int, ...], int] = {}
    for container, request in found:
        amounts[container.path] = amounts.get(container.path, 0) + request.quantity
    return min(max(amounts.values()), LARGEST_AMOUNT)


def _one_of(words: set[str]) -> str:
    return next(iter(words)) if len(words) == 1 else "mixed"


def _kind_of(claims: tuple[GpuClaim, ...], *, believe_claims: bool) -> Kind:
    """Return the field ``kind`` of ``gpu`` for a Pod that requests accelerators only by claims.

    The result is ``none`` if all claims are for NICs or IMEX channels, and ``claim`` otherwise. If ``believe_claims``
    is False, the content of the claims is ignored, and every claim may be for a GPU.
    """
    return "claim" if any(not believe_claims or claim.kind in _MAYBE_GPUS for claim in claims) else "none"


def _claims(pod: Mapping[str, Any], namespace: str, devices: KnownDevices) -> tuple[GpuClaim, ...]:
    """Return the Pod's claims that some container uses."""
    declared = spec(pod).get("resourceClaims")
    if not declared:
        return ()
    used = {
        use.get("name")
        for container in containers(pod)
        if container.kind != "ephemeral"
        for use in (container.body.get("resources") or {}).get("claims") or ()
    }
    group = (spec(pod).get("schedulingGroup") or {}).get("podGroupName")
    found: list[GpuClaim] = []
    for claim in declared:
        if claim.get("name") and claim["name"] in used:
            asked, shared = devices.asked(namespace, claim), devices.shares(namespace, group, claim)
            found += [
                GpuClaim(claim["name"], each.device_class, each.count, devices.kind(each.device_class), shared)
                for each in (_UNKNOWN if asked is None else asked)
            ]
    return tuple(found)


def _class_claims(totals: dict[str, int], devices: KnownDevices) -> tuple[GpuClaim, ...]:
    return tuple(
        GpuClaim("", name := resource.removeprefix(DEVICE_CLASS_PREFIX), quantity, devices.kind(name))
        for resource, quantity in sorted(totals.items())
        if resource.startswith(DEVICE_CLASS_PREFIX)
    )


def _memory_mib(pod: Mapping[str, Any], problems: list[str]) -> int:
    """Return the GPU memory in the Pod's annotation ``podberth.io/gpu-memory``, in MiB, rounded up; 0 if there is none.

    If the value cannot be read, a message is added to ``problems``, and the result is 0.
    """
    text = annotations(pod).get(GPU_MEMORY_ANNOTATION)
    if text is None:
        return 0
    where = f"metadata.annotations[{GPU_MEMORY_ANNOTATION}]"
    try:
        size = mebibytes(text)
    except ValueError as error:
        problems.append(f"{where}: {error}")
        return 0
    if not size:
        # "10" is ten bytes, which no user means; a guessed unit could be wrong, so the message asks for the unit.
        problems.append(f'{where}: got "{text[:32]}", want at least 1Mi; give the unit, as in 10Gi')
    return size
