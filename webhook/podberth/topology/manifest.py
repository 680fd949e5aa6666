"""Reads Node manifests into ``Node``: labels, taints, device amounts, and the reason if a node is transient."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..devices.resources import recognise
from ..errors import TopologyError
from ..kube.quantity import is_some, parse_count
from .document_fields import Fields
from .node import PASSING_TAINTS, Node, NodeTopology, Taint, Transient

_MOST_ITEMS = 256  # taints, conditions

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
    """Return a node together with the node's topology document (None: there is no document).

    The node becomes transient if its devices are out of use, or if the document is stale, because the agent's heartbeat
    has expired. If ``node`` is transient already, the reason is kept.
    """
    transient = node.transient or _device_state(node.allocatable, node.capacity, topology)
    return replace(node, topology=topology, transient=transient or ("stale" if stale else ""))


def read_node(manifest: Mapping[str, Any]) -> Node:
    """Return the node that a Node manifest describes, without a topology document.

    A node without a Ready condition, as in a snapshot written by hand, counts as ready.

    Raises:
        TopologyError: a field is wrong; the message names the node and the field.
    """
    metadata = Fields(Fields(manifest, "Node").below("metadata").values, "Node: metadata")
    name = metadata.text("name", 253)
    if not name:
        raise metadata.bad("name", "a name")
    whole = Fields(manifest, f"Node {name}")
    metadata, spec, status = (
        Fields(whole.below(key).values, f"{whole.where}: {key}") for key in ("metadata", "spec", "status")
    )
    labels = metadata.strings("labels")
    taints = tuple(sorted(map(_read_taint, spec.objects("taints", _MOST_ITEMS))))
    allocatable = _amounts(status, "allocatable")
    # A snapshot may lack capacity; then nothing is known to be missing.
    capacity = _amounts(status, "capacity") or allocatable
    lifecycle: list[Transient] = [
        "leaving" if metadata.values.get("deletionTimestamp") else "",
        "cordoned" if spec.flag("unschedulable") else "",
        *(PASSING_TAINTS.get(taint.key, "") for taint in taints),
        _condition(status),
        _label_state(labels),
    ]
    return Node(
        name=name,
        labels=labels,
        taints=taints,
        allocatable=allocatable,
        capacity=capacity,
        unrecognised=_unrecognised(status.values),
        transient=next((reason for reason in lifecycle if reason), ""),
    )


def _read_taint(taint: Fields) -> Taint:
    # A key has a DNS prefix of 253, a slash, a name of 63.
    return Taint(key=taint.text("key", 317), value=taint.text("value", 63), effect=taint.text("effect", 63))


def _amounts(status: Fields, key: str) -> dict[str, int]:
    """Return the amounts of accelerator resources in the field ``key`` of a node's status; zero amounts are omitted."""
    amounts = {}
    for resource, value in status.below(key).values.items():
        if recognise(str(resource)) is None:
            continue
        try:
            amount = parse_count(value)
        except ValueError as error:
            raise TopologyError(f"{status.where}.{key}[{resource!r}]: {error}") from error
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
            if "/" in str(resource) and recognise(str(resource)) is None and is_some(value):
                found.add(str(resource))
    return frozenset(found)


def _condition(status: Fields) -> Transient:
    """Return the reason in status.conditions why a node is transient; else empty.

    The node is transient if Ready is not True, or if a condition about an accelerator fault is True.
    """
    reason: Transient = ""
    for condition in status.objects("conditions", _MOST_ITEMS):
        kind, value = condition.values.get("type"), condition.values.get("status")
        if not isinstance(kind, str):
            raise condition.bad("type", "a string")
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
    """Return the reason why a node's devices make the node transient; else empty.

    The reason is that a device waits for a reset, is unhealthy, or is not offered by the kubelet.
    """
    gpus = topology.gpus if topology else ()
    if any(gpu.mig_enabled != gpu.mig_pending for gpu in gpus):
        return "MIG reconfiguring"
    # The kubelet keeps unhealthy devices in capacity and removes them from allocatable (pkg/kubelet/cm/devicemanager).
    short = any(allocatable.get(resource, 0) < amount for resource, amount in capacity.items())
    return "unhealthy GPU" if short or any(gpu.problem for gpu in gpus) else ""
