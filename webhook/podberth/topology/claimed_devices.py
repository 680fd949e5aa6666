"""Computes which devices of DRA drivers are held and free on each node, from ResourceSlices and ResourceClaims.

A driver publishes a GPU, and each MIG instance that the GPU can have at each place, as devices that consume the same
counters of the GPU (KEP-4815, partitionable devices). So a device is free if no claim has it and its counters are not
used up. The objects are unchecked. No function here raises an exception, and unreadable parts of an object are skipped.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple, TypeAlias

from ..devices.claims import DRIVERS
from ..devices.resources import AcceleratorKind
from ..kube.quantity import parse_quantity
from ..kube.unchecked import at, list_at, mapping_at, text_at
from .device_use import DeviceUse, HoldingPod

_Counters: TypeAlias = Counter[tuple[str, str, str, str]]
"""The amounts of counters in thousandths, by driver, pool, counter set and counter."""
_UNUSABLE: Final = frozenset({"NoSchedule", "NoExecute"})
_MOST_NAMED: Final = 3


class Device(NamedTuple):
    """The name of a published device; it is unique in the cluster."""

    driver: str
    pool: str
    device: str


class Alike(NamedTuple):
    """The number of a node's free devices, and of the most among these that share one value of an attribute."""

    free: int
    alike: int


@dataclass(frozen=True, slots=True)
class _Published:
    """One published device of a node."""

    name: Device
    node: str
    kind: AcceleratorKind
    profile: str
    attributes: Mapping[str, Any]
    consumes: _Counters
    usable: bool
    """Whether no taint keeps claims away."""


def claimed_use(
    slices: Iterable[Mapping[str, Any]], claims: Iterable[Mapping[str, Any]]
) -> dict[str, tuple[DeviceUse, ...]]:
    """Return the use of the devices that drivers publish, by the node's name.

    Whole GPUs have the driver as resource, and MIG instances the driver and the profile. The number that is allocatable
    is that of held and free ones: a GPU with an instance is no whole GPU, and a GPU that is held has no instances.
    """
    devices, left = _published(slices)
    held = {name: _holder(claim) for claim in claims for name, _ in allocated(claim)}
    _take(devices, held, left)
    groups: dict[tuple[str, str, AcceleratorKind], list[_Published]] = {}
    for device in devices:
        resource = " ".join(filter(None, (device.name.driver, device.profile)))
        groups.setdefault((device.node, resource, device.kind), []).append(device)
    found: dict[str, list[DeviceUse]] = {}
    for (node, resource, kind), members in sorted(groups.items()):
        taken = [device.name for device in members if device.name in held]
        units = Counter(held[name] for name in taken)
        holders = (HoldingPod(namespace, pod, count) for (namespace, pod), count in units.items())
        found.setdefault(node, []).append(
            DeviceUse(
                resource=resource,
                kind=kind,
                allocatable=len(taken) + _free([each for each in members if each.name not in held], left),
                holders=tuple(sorted(holders, key=lambda each: (-each.units, each))),
            )
        )
    return {node: tuple(uses) for node, uses in found.items()}


def free_alike(
    slices: Iterable[Mapping[str, Any]], claims: Iterable[Mapping[str, Any]], driver: str, attribute: str
) -> dict[str, Alike]:
    """Return the free whole accelerators of a driver that share one value of an attribute, by the node's name.

    ``attribute`` has a domain, as in the field ``matchAttribute`` of a claim. A device with a list of values shares
    each of these (KEP-5491).
    """
    devices, left = _published(slices)
    held = {name for claim in claims for name, _ in allocated(claim)}
    _take(devices, held, left)
    nodes: dict[str, list[_Published]] = {}
    for device in devices:
        if device.name.driver == driver and device.kind == "whole":
            nodes.setdefault(device.node, []).append(device)
    found = {}
    for node, members in nodes.items():
        free = [each for each in members if each.name not in held]
        groups: dict[tuple[str, str], list[_Published]] = {}
        for each in free:
            for value in _values(each, attribute):
                groups.setdefault(value, []).append(each)
        alike = max((_free(each, left) for each in groups.values()), default=0)
        found[node] = Alike(_free(free, left), alike)
    return found


def _values(device: _Published, attribute: str) -> set[tuple[str, str]]:
    """Return (type, value) for each value of an attribute of a device; a name without a domain has the driver's."""
    domain, _, name = attribute.partition("/")
    found = mapping_at(device.attributes, attribute)
    if not found and domain == device.name.driver:
        found = mapping_at(device.attributes, name)
    return {
        (sort.removesuffix("s"), str(value))
        for sort, values in found.items()
        for value in (values if isinstance(values, list) else [values])
    }


def _take(devices: Iterable[_Published], held: Container[Device], left: _Counters) -> None:
    """Subtract the counters of the held devices from the counters that are left."""
    for device in devices:
        if device.name in held:
            left.subtract(device.consumes)


def uuids(slices: Iterable[Mapping[str, Any]]) -> dict[Device, str]:
    """Return the UUIDs of the accelerators that drivers publish; a device without one is left out."""
    found = {
        Device(driver, pool, text_at(entry, "name")): _attribute(mapping_at(entry, "basic") or entry, driver, "uuid")
        for driver, pool, document in _newest(slices)
        for entry in list_at(document, "spec", "devices")
    }
    return {device: uuid for device, uuid in found.items() if uuid}


def _free(devices: Iterable[_Published], left: _Counters) -> int:
    """Return how many of the devices can be allocated together, from the counters that are left."""
    remaining, count = left.copy(), 0
    for device in devices:
        if device.usable and all(remaining[key] >= amount for key, amount in device.consumes.items()):
            remaining.subtract(device.consumes)
            count += 1
    return count


def _published(slices: Iterable[Mapping[str, Any]]) -> tuple[list[_Published], _Counters]:
    """Return (the accelerators of nodes, the counters of all pools), from the newest generation of each pool."""
    devices: list[_Published] = []
    counters: _Counters = Counter()
    for driver, pool, each in _newest(slices):
        for name, amounts in _counter_sets(list_at(each, "spec", "sharedCounters"), "name"):
            counters.update({(driver, pool, name, key): amount for key, amount in amounts.items()})
        devices += _devices(each, driver, pool)
    return devices, counters


def _newest(slices: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (driver, pool, slice) for each slice of accelerators in the newest generation of its pool."""
    pools: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in slices:
        if text_at(each, "spec", "driver") in DRIVERS:
            pools.setdefault((text_at(each, "spec", "driver"), text_at(each, "spec", "pool", "name")), []).append(each)
    for (driver, pool), members in pools.items():
        newest = max(map(_generation, members))
        yield from ((driver, pool, each) for each in members if _generation(each) == newest)


def _generation(document: Mapping[str, Any]) -> int:
    found = at(document, "spec", "pool", "generation")
    return found if isinstance(found, int) else 0


def _devices(document: Mapping[str, Any], driver: str, pool: str) -> Iterator[_Published]:
    for entry in list_at(document, "spec", "devices"):
        body = mapping_at(entry, "basic") or entry  # v1beta1 has the device under `basic`
        node = text_at(document, "spec", "nodeName") or text_at(body, "nodeName")
        sort = _attribute(body, driver, "type")
        # A device that several claims may use at the same time, and one that is given to a virtual machine.
        if not node or at(body, "allowMultipleAllocations") is True or sort == "vfio":
            continue
        profile = _attribute(body, driver, "profile")
        sets = _counter_sets(list_at(body, "consumesCounters"), "counterSet")
        yield _Published(
            name=Device(driver, pool, text_at(entry, "name")),
            node=node,
            kind="mig" if profile or sort == "mig" else "whole",
            profile=profile or ("mig" if sort == "mig" else ""),
            attributes=mapping_at(body, "attributes"),
            consumes=Counter({(driver, pool, name, key): n for name, amounts in sets for key, n in amounts.items()}),
            usable=not any(text_at(taint, "effect") in _UNUSABLE for taint in list_at(body, "taints")),
        )


def _attribute(device: object, driver: str, name: str) -> str:
    """Return a text attribute of a device; a name without a domain has that of the driver."""
    found = mapping_at(device, "attributes")
    return text_at(found, name, "string") or text_at(found, f"{driver}/{name}", "string")


def _counter_sets(sets: Iterable[Any], name: str) -> Iterator[tuple[str, dict[str, int]]]:
    for each in sets:
        amounts = mapping_at(each, "counters")
        yield text_at(each, name), {key: _amount(at(value, "value")) for key, value in amounts.items()}


def _amount(value: object) -> int:
    """Return a quantity in thousandths; 0 if it cannot be read."""
    try:
        return ceil(1000 * parse_quantity(value)) if isinstance(value, str | int) else 0
    except ValueError:
        return 0


def allocated(claim: Mapping[str, Any]) -> Iterator[tuple[Device, str]]:
    """Yield (device, request of the claim) for each device that a claim holds."""
    for result in list_at(claim, "status", "allocation", "devices", "results"):
        if at(result, "adminAccess") is not True:  # a monitor's claim holds nothing
            device = Device(text_at(result, "driver"), text_at(result, "pool"), text_at(result, "device"))
            yield device, text_at(result, "request")


def _holder(claim: Mapping[str, Any]) -> tuple[str, str]:
    """Return (the namespace, the names of the pods that a claim is reserved for, or of the claim if nobody has it)."""
    namespace = text_at(claim, "metadata", "namespace")
    names = [text_at(each, "name") for each in list_at(claim, "status", "reservedFor")]
    if not names:
        return namespace, f"(ResourceClaim {text_at(claim, 'metadata', 'name')})"
    more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return namespace, ", ".join(names[:_MOST_NAMED]) + more
