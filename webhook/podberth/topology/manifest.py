"""Reads Node manifests into ``Node``: labels, taints, device amounts, and the reason if a node is transient."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..devices.resources import recognise
from ..errors import TopologyError
from ..kube.quantity import parse_count, parse_quantity
from .document_fields import bad, take_flag, take_list, take_object, take_strings, take_text
from .node import PASSING_TAINTS, Node, NodeTopology, Taint, Transient

_MOST_TAINTS = 256

# MIG manager: https://github.com/NVIDIA/mig-parted deployments; NVSentinel: https://docs.nvidia.com/nvsentinel
_MIG_STATE = "nvidia.com/mig.config.state"
_MIG_SETTLED = frozenset({"", "success"})
_QUARANTINE = "dgxc.nvidia.com/nvsentinel-state"
_QUARANTINED = frozenset({"quarantined", "draining", "drain-succeeded", "drain-failed", "remediating"})

# Conditions that mean a fault of accelerators while True: AKS' node problem detector (MicrosoftDocs/azure-aks-docs
# gpu-health-monitoring.md) and NVSentinel (docs/INTEGRATIONS.md).
FAULTS: frozenset[str] = frozenset(
    {
        "GPUMissing",
        "UnhealthyNvidiaDevicePlugin",
        "UnhealthyNvidiaDCGMServices",
        "GpuMemWatch",
        "GpuNvlinkWatch",
        "GpuPcieWatch",
        "GpuInforomWatch",
        "GpuSmWatch",
        "GpuMcuWatch",
        "GpuPmuWatch",
        "GpuDriverWatch",
        "SysLogsXIDError",
        "SysLogsSXIDError",
        "SysLogsGPUFallenOff",
        "NVSwitchFatalError",
        "NVSwitchDown",
    }
)


def judge(node: Node, topology: NodeTopology | None, *, stale: bool) -> Node:
    """Return a node of ``read_node`` together with its topology document; None: the node has no document.

    The node becomes transient if its devices are out of use, or if the document is stale, because the agent's heartbeat
    has expired. A reason that ``read_node`` found is kept.
    """
    transient = node.transient or _device_state(node.allocatable, node.capacity, topology)
    return replace(node, topology=topology, transient=transient or ("stale" if stale else ""))


def read_node(manifest: Mapping[str, Any]) -> Node:
    """Return the node that a Node manifest describes, without a topology document.

    A node without a Ready condition, as in a snapshot written by hand, counts as ready.

    Raises:
        TopologyError: a field is wrong; the message names the node and the field.
    """
    metadata = take_object(manifest, "metadata", "Node")
    name = take_text(metadata, "name", "Node: metadata", longest=253)
    if not name:
        raise bad("Node: metadata.name", metadata.get("name"), "a name")
    where = f"Node {name}"
    spec, status = take_object(manifest, "spec", where), take_object(manifest, "status", where)
    labels = take_strings(metadata, "labels", f"{where}: metadata")
    taints = tuple(sorted(_read_taint(taint, place) for place, taint in _objects(spec, "taints", f"{where}: spec")))
    allocatable = _amounts(status, "allocatable", f"{where}: status")
    # A snapshot may lack capacity; then nothing is known to be missing.
    capacity = _amounts(status, "capacity", f"{where}: status") or allocatable
    lifecycle: list[Transient] = [
        "leaving" if metadata.get("deletionTimestamp") else "",
        "cordoned" if take_flag(spec, "unschedulable", f"{where}: spec") else "",
        *(PASSING_TAINTS.get(taint.key, "") for taint in taints),
        _condition(status, f"{where}: status"),
        _label_state(labels),
    ]
    return Node(
        name=name,
        labels=labels,
        taints=taints,
        allocatable=allocatable,
        capacity=capacity,
        unrecognised=_unrecognised(status),
        transient=next((reason for reason in lifecycle if reason), ""),
    )


def _objects(document: Mapping[str, Any], key: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the list of objects at ``key``, each with its place as text."""
    found = []
    for place, element in take_list(document, key, where, most=_MOST_TAINTS):
        if not isinstance(element, dict):
            raise bad(place, element, "an object")
        found.append((place, element))
    return found


def _read_taint(taint: dict[str, Any], where: str) -> Taint:
    return Taint(
        key=take_text(taint, "key", where, longest=317),  # a DNS prefix of 253, a slash, a name of 63
        value=take_text(taint, "value", where, longest=63),
        effect=take_text(taint, "effect", where, longest=63),
    )


def _amounts(status: Mapping[str, Any], key: str, where: str) -> dict[str, int]:
    """Return the amounts of known accelerator resources; resources of amount zero are left out."""
    amounts = {}
    for resource, value in take_object(status, key, where).items():
        if recognise(str(resource)) is None:
            continue
        try:
            amount = parse_count(value)
        except ValueError as error:
            raise TopologyError(f"{where}.{key}[{resource!r}]: {error}") from error
        if amount:
            amounts[str(resource)] = amount
    return amounts


def _unrecognised(status: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the extended resources that are no known accelerators.

    A resource with an unreadable amount is left out.
    """
    found = set()
    for key in ("allocatable", "capacity"):
        for resource, value in (status.get(key) or {}).items():
            # Kubernetes' extended resources have a domain (isExtendedResourceName, pkg/apis/core/v1/helper).
            if "/" in str(resource) and recognise(str(resource)) is None and _is_some(value):
                found.add(str(resource))
    return frozenset(found)


def _is_some(amount: object) -> bool:
    try:
        return parse_quantity(amount) > 0
    except ValueError:
        return False


def _condition(status: Mapping[str, Any], where: str) -> Transient:
    """Return the reason for which status.conditions make a node transient; empty if there is none.

    Ready must not be False or Unknown, and no condition about an accelerator fault may be True.
    """
    reason: Transient = ""
    for place, condition in _objects(status, "conditions", where):
        kind, value = condition.get("type"), condition.get("status")
        if not isinstance(kind, str):
            raise bad(f"{place}.type", kind, "a string")
        if kind == "Ready" and value != "True":
            return "not ready"
        if kind in FAULTS and value == "True":
            reason = "unhealthy GPU"
    return reason


def _label_state(labels: Mapping[str, str]) -> Transient:
    if labels.get(_QUARANTINE, "") in _QUARANTINED:
        return "quarantined"
    return "" if labels.get(_MIG_STATE, "") in _MIG_SETTLED else "MIG reconfiguring"


def _device_state(
    allocatable: Mapping[str, int], capacity: Mapping[str, int], topology: NodeTopology | None
) -> Transient:
    """Return the reason that devices give for a transient node; empty if there is none.

    A device waits for a reset, is unhealthy, or is not offered by the kubelet.
    """
    gpus = topology.gpus if topology else ()
    if any(gpu.mig_enabled != gpu.mig_pending for gpu in gpus):
        return "MIG reconfiguring"
    # The kubelet keeps unhealthy devices in capacity and removes them from allocatable (pkg/kubelet/cm/devicemanager).
    short = any(allocatable.get(resource, 0) < amount for resource, amount in capacity.items())
    return "unhealthy GPU" if short or any(gpu.problem for gpu in gpus) else ""
