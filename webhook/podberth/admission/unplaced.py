"""Finds the pods that ask for more accelerators, or for other nodes, than the known nodes have."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..devices.resources import NVIDIA_GPU, TABLE
from ..kube.paths import Path
from ..kube.pod import containers
from ..kube.quantity import is_some, parse_count
from ..kube.unchecked import mapping_at, text_at
from ..words import meant_value
from .description import describe
from .snapshot import Snapshot

# The domains of the resources that device plugins serve; "hugepages-1Gi" has none.
_DOMAINS: Final = frozenset(name.partition("/")[0] for name in TABLE)
# How resources end that only the scheduler of a sharing dialect counts, such as huawei.com/Ascend910B-memory of HAMi.
_PARTS: Final = ("core", "cores", "mem", "memory", "percentage", "priority")

_HAMI: Final = "hami"


def unplaced(pod: dict[str, Any], namespace: str, snapshot: Snapshot) -> tuple[Path, str] | None:
    """Return (path in the pod, message) if nodes are known, and none has what the pod asks for; else None.

    Accelerators and labels are compared. Transient nodes count. Of taints, those that mark GPU nodes are not compared,
    nor is declared GPU memory. A pod without accelerators fits, unless it asks for a resource in the domain of a vendor
    that no node has.
    """
    if not snapshot.topology.node_count:
        return None
    description = describe(pod, namespace, snapshot)
    need = replace(description.need, memory_mib=0)
    if not need.requests:
        found = next((each for each in _limits(pod) if is_some(each.amount) and _is_nowhere(each.name, snapshot)), None)
        return (found.path, f"no known node has {found.name}") if found else None
    if not description.concerned or snapshot.topology.nodes(need).exist:
        return _above_cards(pod, snapshot) if description.gpu.dialect == _HAMI else None
    for resource, units in need.requests:
        path = next((each.path for each in _limits(pod) if each.name == resource), ("spec",))
        most = snapshot.topology.most(resource)
        if not most:
            return path, f"no known node has {resource}"
        if most < units:
            return path, f"no known node has as many: want {units} {resource}, got {most} at most"
    return _unselected(pod, snapshot)


def _above_cards(pod: dict[str, Any], snapshot: Snapshot) -> tuple[Path, str] | None:
    """Return (path, message) if a container asks HAMi for more vGPUs than any known node has cards; else None.

    HAMi's scheduler gives each vGPU of a container on another card (Project-HAMi/HAMi pkg/scheduler/score.go,
    fitInCertainDevice), however many vGPUs a card is divided into. Only a card in MIG mode holds several of them, and
    the cards of a node with such a card do not count (``Capability.cards``).
    """
    most = snapshot.topology.most_cards()
    for each in _limits(pod):
        if each.name == NVIDIA_GPU and most and (vgpus := _units(each.amount)) > most:
            message = f"no known node has as many: want {vgpus} cards, one for each vGPU of the container"
            return each.path, f"{message}, got {most} at most"
    return None


def _units(amount: object) -> int:
    try:
        return parse_count(amount)
    except ValueError:
        return 0


def _unselected(pod: dict[str, Any], snapshot: Snapshot) -> tuple[Path, str]:
    """Return (path in the pod, message) for a pod whose choice of nodes leaves out each node with its devices."""
    if name := text_at(pod, "spec", "nodeName"):
        return ("spec", "nodeName"), f"no known node of the name {name} has what the pod asks for"
    for key, value in mapping_at(pod, "spec", "nodeSelector").items():
        known = snapshot.topology.values_of(key)
        if known and value not in known:
            return ("spec", "nodeSelector", key), f"no known node has {value}{meant_value(str(value), known)}"
    selects = next((key for key in ("nodeSelector", "affinity") if mapping_at(pod, "spec", key)), "")
    return (
        tuple(filter(None, ("spec", selects))),
        "no known node with these devices fits nodeSelector, affinity and tolerations; podberth explain says why",
    )


class _Limit(NamedTuple):
    """A limit of a container of a pod."""

    path: Path
    name: str
    amount: object


def _limits(pod: Mapping[str, Any]) -> Iterator[_Limit]:
    for each in containers(pod):
        for name, amount in mapping_at(each.body, "resources", "limits").items():
            yield _Limit((*each.path, "resources", "limits", name), name, amount)


def _is_nowhere(resource: str, snapshot: Snapshot) -> bool:
    if resource in TABLE or resource.partition("/")[0] not in _DOMAINS or resource.endswith(_PARTS):
        return False
    return not snapshot.topology.offers(resource) and resource not in snapshot.facts.class_resources
