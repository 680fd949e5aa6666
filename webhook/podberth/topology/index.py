"""The index of all known nodes by class of nodes: a look-up visits each class, and not each node.

Nodes of one class have equal accelerators, taints, transient reason, and labels, except for the labels that the
conventions ignore, such as those that identify one node (``Conventions.ignored_labels``).

An index never changes: ``update`` returns a new index that shares all unaffected classes. Of each node the index keeps
only the name, the class, the ignored labels, and the names of extended resources that podberth does not know.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias
from weakref import WeakKeyDictionary

from ..conventions import Conventions
from ..devices.resources import NVIDIA_GPU
from .capability import Capability, capability_of, gpu_memory_mib
from .choice import Choices
from .need import Need, NodeSelection, is_small
from .node import Node, Taint
from .node_sets import NodeClass, NodeSet, OwnLabels, Part, select
from .whole_gang import Roles, narrowest_levels

__all__ = ["Need", "NodeSelection", "NodeSet", "TopologyIndex"]

# Questions differ by the pods' requests, which are a few hundred combinations in a big cluster; more than that is
# abuse, and forgetting all is cheaper than keeping order. An answer takes a few KiB.
_REMEMBERED = 4096
# Gangs with different roles are few, and each of their answers is two words.
_REMEMBERED_GANGS = 256

_Key: TypeAlias = tuple[tuple[tuple[str, str], ...], tuple[Taint, ...], Capability, str]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The facts about one node in the index.

    ``key`` is the node's class. ``own`` are the labels that are not part of the class (``Conventions.ignored_labels``).
    ``unrecognised`` are the extended resources of the node that podberth does not know.
    """

    key: _Key
    own: OwnLabels
    unrecognised: frozenset[str]


class TopologyIndex:
    """All known nodes by class. ``build`` makes an index; an index is never modified."""

    def __init__(self, conventions: Conventions, classes: dict[_Key, NodeClass], entries: dict[str, _Entry]) -> None:
        """Create the index from its tables, without a copy; only this module calls it."""
        self.conventions = conventions
        self._classes = classes
        self._entries = entries
        self._answers: dict[Need, NodeSet] = {}
        self._large: tuple[Need, NodeSet] | None = None
        self._gangs: dict[Roles, tuple[str, str]] = {}
        self._resources_of: WeakKeyDictionary[NodeSet, frozenset[str]] = WeakKeyDictionary()

    @classmethod
    def build(cls, nodes: Iterable[Node], conventions: Conventions | None = None) -> "TopologyIndex":
        """Return the index of all nodes. If two nodes have one name, the later node is used.

        ``conventions`` are the names of levels, taints and labels in the cluster; None: the defaults.
        """
        return cls(conventions or Conventions(), {}, {}).update(nodes)

    def update(self, nodes: Iterable[Node], gone: Iterable[str] = ()) -> "TopologyIndex":
        """Return the index with the nodes ``nodes`` added or replaced, and the nodes called ``gone`` removed.

        The result is ``self`` if nothing changes. The tables and each affected class are copied once, so an update of
        many nodes takes little more time than an update of one node.
        """
        entries = dict(self._entries)
        members = _Members(self._classes)
        for name in gone:
            before = entries.pop(name, None)
            if before is not None:
                del members[before.key][name]
        shared: dict[_Key, _Key] = {}
        for node in nodes:
            entry = _file(node, self.conventions)
            before = entries.get(node.name)
            if before == entry:
                continue
            if before is not None:
                del members[before.key][node.name]
            members[entry.key][node.name] = entry.own
            # All nodes of a class share one key.
            present = self._classes.get(entry.key)
            first = self._entries[next(iter(present.members))].key if present else entry.key
            entries[node.name] = replace(entry, key=shared.setdefault(first, first))
        classes = dict(self._classes)
        for key, own in members.items():
            if own:
                classes[key] = _make_class(key, own)
            else:
                classes.pop(key, None)
        return TopologyIndex(self.conventions, classes, entries) if members else self

    @property
    def known(self) -> bool:
        """Whether the index has any node, with or without GPUs."""
        return bool(self._entries)

    @property
    def node_count(self) -> int:
        """The number of nodes, transient nodes included."""
        return len(self._entries)

    @property
    def class_count(self) -> int:
        """The number of node classes."""
        return len(self._classes)

    @cached_property
    def offered(self) -> frozenset[str]:
        """The names of all accelerator resources that any node has, transient nodes included."""
        return frozenset(name for one in self._classes.values() for name, _ in one.capability.amounts)

    @cached_property
    def resources(self) -> frozenset[str]:
        """The names of all extended resources that any node has, accelerators and others; every node is visited."""
        return self.offered.union(*{entry.unrecognised for entry in self._entries.values()})

    def offers(self, resource: str) -> bool:
        """Return whether any node has the extended resource ``resource``, which need not be an accelerator.

        If no node has the resource, DRA may still serve it (docs/rules.md, rule 13).
        """
        return resource in self.offered or resource in self.resources

    def most(self, resource: str) -> int:
        """Return the largest number of units of an accelerator's resource on one node; transient nodes are included."""
        return max((each.capability.amount_of.get(resource, 0) for each in self._classes.values()), default=0)

    def most_cards(self) -> int:
        """Return the largest number of GPUs that units of ``nvidia.com/gpu`` can be shares of on one node.

        If the number of a node's GPUs is unknown, it is at most that of the units. Transient nodes are included.
        """
        known = (each.capability for each in self._classes.values())
        return max((each.cards or each.amount_of.get(NVIDIA_GPU, 0) for each in known), default=0)

    def values_of(self, label: str) -> list[str]:
        """Return the sorted values of a label on all nodes; empty for a label that the conventions ignore."""
        return sorted({each.labels[label] for each in self._classes.values() if label in each.labels})

    def resources_of(self, nodes: NodeSet) -> frozenset[str]:
        """Return the names of all extended resources that any node of a set of this index has; every node is visited.

        Transient nodes are included. Results are cached.
        """
        found = self._resources_of.get(nodes)
        if found is None:
            known = (name for part in nodes.parts for name, _ in part.node_class.capability.amounts)
            others = {self._entries[name].unrecognised for part in nodes.parts for name, _ in part.nodes()}
            self._resources_of[nodes] = found = frozenset(known).union(*others)
        return found

    @cached_property
    def memory_mib(self) -> Mapping[str, int]:
        """A mapping from GPU model, as GFD's or GKE's label names it, to the MiB of a whole GPU; without unknown MiB.

        If nodes differ, the largest value is used.
        """
        found: dict[str, int] = {}
        for one in self._classes.values():
            for product, memory in gpu_memory_mib(one.labels, one.capability).items():
                found[product] = max(found.get(product, 0), memory)
        return found

    @cached_property
    def mig_profiles(self) -> frozenset[str]:
        """The names of all MIG profiles that any node's GPUs offer, transient nodes included."""
        tables = {table for one in self._classes.values() for table in one.capability.models}
        return frozenset(profile for table in tables for profile in table.rows)

    @cached_property
    def _whole_classes(self) -> tuple[Part, ...]:
        """All classes of nodes, each with all nodes of the class."""
        return tuple(Part(one) for one in self._classes.values())

    @cached_property
    def _choices(self) -> Choices:
        return Choices(self._whole_classes, self.conventions.ignored_labels)

    def nodes(self, need: Need) -> NodeSet:
        """Return the nodes that could run a pod with the given need.

        Results are cached. For a large need, such as one with many terms, only the last result is cached.
        """
        large = self._large
        if large is not None and large[0] is need:  # hashing or comparing it costs as much as its length
            return large[1]
        found = self._answers.get(need)
        if found is None and large is not None and large[0] == need:
            self._large = (need, large[1])
            found = large[1]
        if found is None:
            whole = self._whole_classes
            chosen = whole if need.selector is None else self._choices.chosen(need.selector)
            found = select(chosen, need, self.conventions)
            if is_small(need):
                if len(self._answers) >= _REMEMBERED:
                    self._answers.clear()
                self._answers[need] = found
            else:
                self._large = (need, found)
        return found

    def levels(self, roles: Roles) -> tuple[str, str]:
        """Return (narrowest level, narrowest safe level) for a gang of different roles, as label keys.

        All pods of the gang fit into at least one domain of the narrowest level, and into every domain of the narrowest
        safe level. A level is empty if there is no such level. ``roles`` has the number of pods and the need of each
        role. Results are cached.
        """
        found = self._gangs.get(roles)
        if found is None:
            found = narrowest_levels(roles, [self.nodes(need) for _, need in roles], self.conventions)
            if len(self._gangs) >= _REMEMBERED_GANGS:
                self._gangs.clear()
            self._gangs[roles] = found
        return found


class _Members(dict[_Key, dict[str, OwnLabels]]):
    """The nodes of the classes that an update of the index changes; a class is copied at its first use."""

    def __init__(self, classes: Mapping[_Key, NodeClass]) -> None:
        super().__init__()
        self._classes = classes

    def __missing__(self, key: _Key) -> dict[str, OwnLabels]:
        present = self._classes.get(key)
        self[key] = found = dict(present.members) if present else {}
        return found


def _file(node: Node, conventions: Conventions) -> _Entry:
    ignored = conventions.ignored_labels
    labels = tuple(sorted(item for item in node.labels.items() if item[0] not in ignored))
    own = tuple(sorted(item for item in node.labels.items() if item[0] in ignored))
    return _Entry((labels, tuple(sorted(node.taints)), capability_of(node), node.transient), own, node.unrecognised)


def _make_class(key: _Key, members: Mapping[str, OwnLabels]) -> NodeClass:
    labels, taints, capability, transient = key
    return NodeClass(labels=dict(labels), taints=taints, capability=capability, transient=transient, members=members)
