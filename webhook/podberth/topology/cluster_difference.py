"""Computes the differences between two states of a cluster, for each node, and once for all similar nodes.

Only data that podberth reads is compared. The conventions' ignored labels are left out: these labels identify a node or
show the node's age or state, so they often differ. An ignored label may still make a node transient, such as the label
of a running MIG reconfiguration. Then the difference is one of the aspect "state".
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..conventions import Conventions
from .node import Gpu, Node, NodeTopology
from .node_picture import layout_of, shape_of
from .overview import MachineSummary, kind_of

Aspect: TypeAlias = Literal[
    "state", "label", "taint", "allocatable", "capacity", "gpu", "health", "links", "mig", "agent"
]
"""The part of a node that differs, such as the node's labels or taints."""

_HEALTHY = "healthy"
_NUMBERED = re.compile(r"(.*GPU )([0-9]{1,3})")


@dataclass(frozen=True, slots=True, order=True)
class NodeChange:
    """One value that differs between two states of a node; an empty text means that the value is absent."""

    aspect: Aspect
    what: str
    """The name of the value: a label's key, a taint's key and effect, a resource, ``GPU 3``."""
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedNode:
    """A node that differs between two states of a cluster and exists in both."""

    name: str
    kind: MachineSummary
    """The kind of the node in the later state."""
    changes: tuple[NodeChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDifference:
    """The equal changes of several similar nodes between two states of a cluster."""

    event: Literal["added", "removed", "changed"]
    kind: MachineSummary
    names: tuple[str, ...]
    changes: tuple[NodeChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All differences between two states of a cluster; each list is sorted by name."""

    added: tuple[tuple[str, MachineSummary], ...]
    removed: tuple[tuple[str, MachineSummary], ...]
    changed: tuple[ChangedNode, ...]

    @property
    def empty(self) -> bool:
        """Whether both states are equal in all data that podberth reads."""
        return not (self.added or self.removed or self.changed)

    @property
    def by_kind(self) -> tuple[KindDifference, ...]:
        """The differences, with one entry for all similar nodes that have equal changes.

        The entry with the most nodes is first. Nodes are similar if they have equal GPUs, links and other lasting
        properties.
        """
        groups: dict[
            tuple[Literal["added", "removed", "changed"], MachineSummary, tuple[NodeChange, ...]], list[str]
        ] = {}
        for name, kind in self.removed:
            groups.setdefault(("removed", kind, ()), []).append(name)
        for name, kind in self.added:
            groups.setdefault(("added", kind, ()), []).append(name)
        for each in self.changed:
            groups.setdefault(("changed", each.kind, each.changes), []).append(each.name)
        found = (
            KindDifference(event=event, kind=kind, names=tuple(names), changes=changes)
            for (event, kind, changes), names in groups.items()
        )
        return tuple(sorted(found, key=lambda one: (-len(one.names), one.names)))


def difference(before: Iterable[Node], after: Iterable[Node], conventions: Conventions | None = None) -> Difference:
    """Return the differences between two states of a cluster's nodes.

    The ignored labels of ``conventions`` are not compared; None: the default conventions.
    """
    conventions = conventions or Conventions()
    old, new = ({node.name: node for node in nodes} for nodes in (before, after))
    changed = (
        ChangedNode(name=name, kind=kind_of(new[name]), changes=changes)
        for name in sorted(old.keys() & new.keys())
        if (changes := _changes(old[name], new[name], conventions))
    )
    return Difference(
        added=tuple((name, kind_of(new[name])) for name in sorted(new.keys() - old.keys())),
        removed=tuple((name, kind_of(old[name])) for name in sorted(old.keys() - new.keys())),
        changed=tuple(changed),
    )


def _changes(before: Node, after: Node, conventions: Conventions) -> tuple[NodeChange, ...]:
    if before == after:
        return ()
    found = (
        change
        for aspect, seen in _SEEN.items()
        for change in _compared(aspect, seen(before, conventions), seen(after, conventions))
    )
    return tuple(found)


def _compared(aspect: Aspect, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[NodeChange]:
    for what in sorted(before.keys() | after.keys(), key=_natural):
        old, new = _shown(before, what), _shown(after, what)
        if old != new:
            yield NodeChange(aspect, what, old, new)


def _shown(seen: Mapping[str, str], what: str) -> str:
    """Return the value called ``what`` as text; empty only if the value is absent.

    Labels may have empty values, so an empty value is shown in quotation marks.
    """
    return seen[what] or '""' if what in seen else ""


def _natural(what: str) -> tuple[str, int]:
    """Return the sort key of a name; a number in the name counts as a number, so ``GPU 10`` comes after ``GPU 9``."""
    number = _NUMBERED.fullmatch(what)
    return (number[1], int(number[2])) if number else (what, 0)


def _amounts(amounts: Mapping[str, int]) -> Mapping[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _topology(node: Node) -> NodeTopology:
    return node.topology or NodeTopology()


def _taints(node: Node, _: Conventions) -> Mapping[str, str]:
    """Return a mapping from ``key:effect`` of each taint of the node to the taint's value.

    If several taints have one key and effect, their values are joined by commas.
    """
    found: dict[str, str] = {}
    for taint in sorted(node.taints):
        what = f"{taint.key}:{taint.effect}"
        found[what] = f"{found[what]}, {taint.value}" if what in found else taint.value
    return found


def _spelled(gpu: Gpu) -> str:
    numa = "" if gpu.numa_node is None else f"NUMA {gpu.numa_node}"
    memory = f"{gpu.memory_mib} MiB" if gpu.memory_mib else ""
    return ", ".join(part for part in (gpu.product, gpu.pci_id, memory, numa, gpu.uuid) if part) or "unnamed"


def _links(node: Node, _: Conventions) -> Mapping[str, str]:
    topology = _topology(node)
    links = topology.links
    domains = " ".join("-".join(map(str, domain)) for domain in links.domains)
    found = {"shape": shape_of(node), "domains": domains, "fabric": topology.fabric.label if topology.fabric else ""}
    indexes = [gpu.index for gpu in topology.gpus]
    rows = ((f"levels of GPU {index}", " ".join(row)) for index, row in zip(indexes, links.levels, strict=False))
    return {what: text for what, text in (*found.items(), *rows) if text}


def _mig(node: Node, _: Conventions) -> Mapping[str, str]:
    topology = _topology(node)
    waiting = {
        f"mode of GPU {gpu.index}": "on after a reset" if gpu.mig_pending else "off after a reset"
        for gpu in topology.gpus
        if gpu.mig_enabled != gpu.mig_pending
    }
    profiles = sorted({f"{o.profile} x {o.max_instances}, {o.memory_mib} MiB" for o in topology.mig_offers})
    offered = {"profiles": "; ".join(profiles)} if profiles else {}
    return {f"GPU {index}": layout for index, layout in layout_of(node).items()} | waiting | offered


_SEEN: Final[Mapping[Aspect, Callable[[Node, Conventions], Mapping[str, str]]]] = {
    "state": lambda node, _: {"node": node.transient or _HEALTHY},
    "health": lambda node, _: {f"GPU {gpu.index}": gpu.problem or _HEALTHY for gpu in _topology(node).gpus},
    "allocatable": lambda node, _: _amounts(node.allocatable),
    "capacity": lambda node, _: {**_amounts(node.capacity), **dict.fromkeys(node.unrecognised, "some")},
    "mig": _mig,
    "links": _links,
    "gpu": lambda node, _: {f"GPU {gpu.index}": _spelled(gpu) for gpu in _topology(node).gpus},
    "taint": _taints,
    "label": lambda node, by: {key: node.labels[key] for key in node.labels if key not in by.ignored_labels},
    "agent": lambda node, _: {} if node.topology is None else {"topology document": "there"},
}
"""The functions that return each compared part of a node as texts by name, in the order of the report."""
