"""Sets of nodes. The index returns such a set for a pod's need, and callers narrow the set and read facts about it.

A set keeps classes of nodes. A set keeps single nodes only if the pod's choice of nodes depends on a node's name or on
an ignored label. A set has no reference to its index, so a replaced index is freed at once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson

from ..conventions import Conventions, Trait
from ..devices.mig_tables import MigTable
from ..devices.resources import recognise
from ..kube.selector import node_selector_matches, prepared
from ..wellknown import HOSTNAME_LABEL, LINK_DOMAIN_LABEL
from .capability import Capability
from .cover import LabelledNodes
from .need import (
    NODE_NAME_FIELD,
    Need,
    Reach,
    fits,
    has_amounts,
    link_domain,
    pods_per_node,
)
from .node import Taint
from .placement import Placement, Unfit

OwnLabels: TypeAlias = tuple[tuple[str, str], ...]
"""The ignored labels of one node, as pairs of key and value."""

# Policies prefer a handful of terms for a pod; more is abuse.
_REMEMBERED = 64
_MOST_NAMED = 2  # nodes named for one reason: a line for people has room for no more

# The labels that would distinguish wanted nodes from others, if nodes had them: GFD's; for links the node agent's.
_SHOWS_MEMORY = "nvidia.com/gpu.memory"
_SHOWS_AMOUNT = "nvidia.com/gpu.count"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeClass:
    """Nodes that are equal in everything that policies can read about nodes, except names and ignored labels.

    Ignored labels are labels that the conventions list, such as labels that identify a node or show the node's age.
    """

    labels: Mapping[str, str]
    """All labels of the nodes except the ignored labels; the nodes of the class share this mapping."""
    taints: tuple[Taint, ...]
    capability: Capability
    transient: str
    members: Mapping[str, OwnLabels]
    """The ignored labels of each node, by the name of the node."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some or all of the nodes of a class."""

    node_class: NodeClass
    names: frozenset[str] | None = None
    """The names of the nodes; None: all nodes of the class."""

    @property
    def count(self) -> int:
        """The number of nodes in the part of the class."""
        return len(self.node_class.members) if self.names is None else len(self.names)

    def nodes(self) -> Iterator[tuple[str, OwnLabels]]:
        """Yield (name, labels in ``Conventions.ignored_labels``) for each node; a label is a pair of key and value."""
        members = self.node_class.members
        return ((name, own) for name, own in members.items() if self.names is None or name in self.names)

    def labelled(self, own_keys: frozenset[str]) -> Iterator[LabelledNodes]:
        """Yield the labels of the nodes, of the ignored labels only ``own_keys``, and the number of nodes with them."""
        labels = self.node_class.labels
        if not own_keys:
            yield LabelledNodes(labels, self.count)
            return
        counts = Counter(tuple([pair for pair in own if pair[0] in own_keys]) for _, own in self.nodes())
        yield from (LabelledNodes({**labels, **dict(own)}, count) for own, count in counts.items())


@dataclass(eq=False)
class NodeSet:
    """The nodes that could run a pod.

    The results are about durable nodes; transient nodes are kept separately, because they may become durable.
    """

    conventions: Conventions
    need: Need
    parts: tuple[Part, ...]
    others: tuple[Part, ...]
    """The nodes of the pod's choice that do not fit the pod."""
    linked: int = 1
    """The number of the requested GPUs that have to be in one link domain."""

    def __post_init__(self) -> None:
        """Count the durable and the transient nodes."""
        self._narrowed: dict[int | str, NodeSet] = {}
        self._selected: dict[bytes, int] = {}
        self.count: int = sum(part.count for part in self.parts if not part.node_class.transient)
        """The number of durable nodes that could run the pod."""
        self.transient_count: int = sum(part.count for part in self.parts if part.node_class.transient)
        """The number of transient nodes that could run the pod if the nodes were healthy."""

    @property
    def durable_parts(self) -> list[Part]:
        """The durable nodes of the set, as parts of their classes."""
        return _durable(self.parts)

    @property
    def exist(self) -> bool:
        """Whether any node fits. A transient node counts, because it may fit again when it is no longer transient."""
        return self.count + self.transient_count > 0

    @cached_property
    def transient_reasons(self) -> str:
        """The reasons why nodes are transient, as text, the most common reason first; empty if no node is transient.

        An example is ``unhealthy GPU (gpu-7), stale (12 nodes)``.
        """
        found: dict[str, list[str]] = {}
        for part in self.parts:
            if reason := part.node_class.transient:
                found.setdefault(reason, []).extend(name for name, _ in part.nodes())
        by_number = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
        return ", ".join(f"{reason} ({_listed(names)})" for reason, names in by_number)

    def with_link_domain(self, size: int) -> "NodeSet":
        """Return only the nodes with ``size`` of the requested GPUs in one NVLink domain; all if ``size`` is below 2.

        The result is cached.
        """
        if size <= 1:
            return self
        # Sizes between two that nodes have select the same nodes: there are as many answers as sizes of domains.
        known = self._link_domains
        size = next((each for each in known if each >= size), max((1, *known)) + 1)
        found = self._narrowed.get(size)
        return found or self._only(size, lambda one: link_domain(one, self.need) >= size, max(size, self.linked))

    @cached_property
    def _link_domains(self) -> tuple[int, ...]:
        """The sizes of nodes' largest NVLink domains, in units of a requested resource; sorted, each once."""
        parts = (*self.parts, *self.others)
        return tuple(sorted({link_domain(part.node_class.capability, self.need) for part in parts}))

    @cached_property
    def links_known(self) -> bool:
        """Whether the NVLink or XGMI domains of all nodes of the set are known."""
        return all(part.node_class.capability.links_known for part in self.parts)

    @cached_property
    def cut(self) -> bool:
        """Whether one unit of ``nvidia.com/gpu`` on any node of the set is a MIG instance or a part of a shared GPU."""
        return any(part.node_class.capability.cut for part in self.parts)

    @cached_property
    def instance(self) -> str:
        """The MIG profile of one unit of ``nvidia.com/gpu`` on all nodes of the set; empty if the profiles differ."""
        profiles = {part.node_class.capability.instance for part in self.parts}
        return profiles.pop() if len(profiles) == 1 else ""

    def with_instances(self, profile: str) -> "NodeSet":
        """Return only the nodes on which ``nvidia.com/gpu`` is a MIG instance of the profile ``profile``.

        The result has no node if ``profile`` is empty. The result is cached.
        """
        # A profile that no node has is answered as an empty name is.
        profile = profile if any(part.node_class.capability.instance == profile for part in self.parts) else ""
        found = self._narrowed.get(profile)
        return found or self._only(profile, lambda one: bool(profile) and one.instance == profile, self.linked)

    def _only(self, key: int | str, fit: Callable[[Capability], bool], linked: int) -> "NodeSet":
        """Return the set of the nodes whose accelerators satisfy ``fit``.

        All other nodes become nodes that do not fit: the field ``others`` of the result. ``linked`` is the number of
        the requested GPUs that have to be in one link domain. The result is cached under ``key``.
        """
        kept = tuple(part for part in self.parts if fit(part.node_class.capability))
        rest = (part for part in self.parts if not fit(part.node_class.capability))
        self._narrowed[key] = found = NodeSet(self.conventions, self.need, kept, (*self.others, *rest), linked)
        return found

    @cached_property
    def placement(self) -> Placement:
        """The label expressions that select the durable nodes of the set and no durable node that does not fit.

        Nodes that the pod's own nodeSelector or affinity excludes may match, because the scheduler applies nodeSelector
        and affinity as well.
        """
        wanted, others = self.durable_parts, _durable(self.others)
        unfit = [each for each in others if has_amounts(each.node_class.capability, self.need)]
        return Placement(
            [LabelledNodes(part.node_class.labels, part.count) for part in wanted],
            [LabelledNodes(part.node_class.labels, part.count) for part in others],
            [Unfit(part.node_class.labels, self._why(part.node_class.capability)) for part in unfit],
            conventions=self.conventions,
            distinguishing=self._distinguishing(unfit),
        )

    def _why(self, capability: Capability) -> frozenset[Trait] | None:
        """Return why nodes with a capability do not fit, although they have enough devices; None if that is uncertain.

        The result has "memory" or "links", and also "cut" if MIG divides the GPUs of the nodes.
        """
        why: Trait = "links" if fits(capability, self.need) else "memory"
        if why == "links" and (self.linked <= 1 or not capability.links_known):
            return None  # it is no instance of the requested profile, or its links are unknown
        return frozenset({why, "cut"} if capability.cut else {why})

    def _distinguishing(self, unfit: Sequence[Part]) -> str:
        """Return the label that would distinguish the fitting nodes from ``unfit``.

        It is the label of link domains if a node in ``unfit`` has a too small link domain, and else the label of GPU
        memory. If ``unfit`` is empty, it is the label of the number of GPUs.
        """
        links = any(link_domain(part.node_class.capability, self.need) < self.linked for part in unfit)
        return LINK_DOMAIN_LABEL if links else _SHOWS_MEMORY if unfit else _SHOWS_AMOUNT

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The distinct taints of the set's nodes, sorted.

        The taints of transient nodes are included, because the result must not change with the health of nodes.
        """
        return tuple(sorted({taint for part in self.parts for taint in part.node_class.taints}))

    @cached_property
    def tolerations(self) -> tuple[dict[str, str], ...]:
        """One toleration for each taint that only marks these nodes as having accelerators.

        Such taints are NoSchedule taints with a key that the conventions list. A taint for another reason (health,
        spot, a team) gets no toleration (docs/rules.md, rule 4).
        """
        found: dict[str, dict[str, str]] = {}
        for taint in self.taints:
            if self.conventions.marks_accelerators(taint.key, taint.value, taint.effect):
                value = self.conventions.tolerable_taints[taint.key]
                how = {"operator": "Exists"} if value is None else {"operator": "Equal", "value": value}
                found[taint.key] = {"key": taint.key, **how, "effect": taint.effect}
        return tuple(found.values())

    def count_selected(self, terms: Sequence[Mapping[str, Any]]) -> int:
        """Return the number of durable nodes whose labels match any of the nodeSelectorTerms ``terms``.

        The result is cached.
        """
        key = orjson.dumps(terms, option=orjson.OPT_SORT_KEYS)
        found = self._selected.get(key)
        if found is None:
            if len(self._selected) >= _REMEMBERED:
                self._selected.clear()
            wanted = prepared(terms)
            keys = {each["key"] for term in terms for each in term.get("matchExpressions") or ()}
            found = sum(
                count
                for part in self.durable_parts
                for labels, count in part.labelled(self.conventions.ignored_labels & keys)
                if node_selector_matches(wanted, labels, {NODE_NAME_FIELD: ""})
            )
            self._selected[key] = found
        return found

    def narrowest_level(self, members: int) -> str:
        """Return the narrowest level, as a label key, with a domain that holds ``members`` pods; empty if none.

        Only durable nodes are used, and they are taken as empty. If ``members`` is 0, the number of pods is unknown,
        and two pods are assumed. A pod without accelerators fits anywhere, so the result is empty. For pods with DRA
        claims one pod per node is assumed, although a node may hold more; if no level has enough nodes, the result is
        the level with the largest domain.
        """
        wanted = members or 2
        found = next((level for level, _, most in self._domain_sizes if most >= wanted), "")
        if found or not self._unknown_room:
            return found
        shared = [(level, most) for level, _, most in self._domain_sizes if most > 1]
        return max(shared, key=lambda each: each[1], default=("", 0))[0]

    def narrowest_safe_level(self, members: int) -> str:
        """Return the narrowest level of which every domain with a fitting node holds ``members`` pods; empty if none.

        A required affinity to one domain needs this level: the scheduler may place the first pod in any domain, and all
        other pods have to follow. The result for pods with DRA claims is empty, because it is unknown how many such
        pods a node holds.
        """
        if self._unknown_room:
            return ""
        wanted = members or 2
        return next((level for level, least, _ in self._domain_sizes if least >= wanted), "")

    @cached_property
    def mig_offers(self) -> Mapping[str, int]:
        """A mapping from each MIG resource that durable nodes offer to the least MiB of an instance.

        The MiB are 0 if the memory is unknown on any of the nodes.
        """
        offers: dict[str, int] = {}
        for part in self.durable_parts:
            capability = part.node_class.capability
            memory = capability.memory_of
            for name, _ in capability.amounts:
                accelerator = recognise(name)
                if accelerator is not None and accelerator.kind == "mig":
                    offers[name] = min(offers.get(name, memory.get(name, 0)), memory.get(name, 0))
        return MappingProxyType(offers)

    @cached_property
    def mig_models(self) -> tuple[MigTable, ...]:
        """The tables of MIG profiles of the GPUs on the durable nodes, each once."""
        return tuple(dict.fromkeys(each for part in self.durable_parts for each in part.node_class.capability.models))

    @cached_property
    def shared(self) -> bool:
        """Whether every durable node offers one of the requested resources as shares of a device.

        False without durable nodes.
        """
        asked = {name for name, _ in self.need.requests}
        durable = [part.node_class.capability for part in self.durable_parts]
        return bool(durable) and all(asked.intersection(one.shares) for one in durable)

    @cached_property
    def memory_mib(self) -> tuple[int, int]:
        """(least, most) MiB of one unit on nodes of the set, among the units of all requested resources.

        The result is (0, 0) if the MiB are unknown on a node, or if no resource is requested. Transient nodes are
        included, because a pod may run there once the nodes are healthy.
        """
        sizes = {
            part.node_class.capability.memory_of.get(name, 0) for part in self.parts for name, _ in self.need.requests
        }
        return (min(sizes), max(sizes)) if sizes and all(sizes) else (0, 0)

    def durable_names(self) -> tuple[str, ...]:
        """Return the names of the durable nodes, sorted. The function visits every node."""
        return tuple(sorted(name for part in self.durable_parts for name, _ in part.nodes()))

    @property
    def _unknown_room(self) -> bool:
        return self.need.claimed and not self.need.requests

    @cached_property
    def _domain_sizes(self) -> tuple[tuple[str, int, int], ...]:
        """(level, pods in the smallest domain, pods in the largest) for each level with domains, narrowest first.

        Each node is a domain of the hostname level, even if the node lacks the label. A node that may serve the pod by
        DRA counts as one without room.
        """
        counted = [
            (part, each)
            for part in self.durable_parts
            if (each := pods_per_node(part.node_class.capability, self.need)) or self.need.or_claimed
        ]
        levels, ignored = self.conventions.levels, self.conventions.ignored_labels
        by_class = frozenset(levels) - ignored
        sizes: dict[str, dict[str, int]] = {}
        for part, each in counted:
            # Most of the known levels are other providers': only those are visited that a class has.
            for level in by_class.intersection(part.node_class.labels):
                if value := part.node_class.labels[level]:
                    found = sizes.setdefault(level, {})
                    found[value] = found.get(value, 0) + each * part.count
        for level in ignored.intersection(levels):
            sizes[level] = _of_single_nodes(counted, level)
        return tuple(
            (level, min(counts.values()), max(counts.values()))
            for level in reversed(levels)
            if (counts := sizes.get(level))
        )


def _of_single_nodes(counted: Sequence[tuple[Part, int]], level: str) -> dict[str, int]:
    """Return a mapping from each domain of a level, by the label's value, to the number of pods that fit into it.

    ``counted`` has parts of classes of nodes, each with the number of pods that fit on one node of the part. The
    level's label is one of ``Conventions.ignored_labels``, so its value is read from each node. For the hostname level,
    whose domains are single nodes, one domain stands for all into which equally many pods fit.
    """
    sizes: dict[str, int] = {}
    for part, each in counted:
        if level == HOSTNAME_LABEL:
            sizes[str(each)] = each
            continue
        for _, own in part.nodes():
            for key, value in own:
                if key == level and value:
                    sizes[value] = sizes.get(value, 0) + each
    return sizes


def select(chosen: Iterable[Part], need: Need, conventions: Conventions) -> NodeSet:
    """Return the nodes that fit ``need``, among the nodes that the pod's own selection matches.

    Many classes share their taints, so each list of taints is checked once.
    """
    reaches = cache(Reach(need, conventions))
    parts: list[Part] = []
    claimable: list[Part] = []
    others: list[Part] = []
    for part in chosen:
        capability = part.node_class.capability
        if not reaches(part.node_class.taints):
            continue
        if fits(capability, need):
            parts.append(part)
        elif need.or_claimed and not capability.amounts and _is_accelerated(part, conventions):
            claimable.append(part)
        else:
            others.append(part)
    if need.claimed and not need.requests:
        parts, rest = _with_accelerators(parts, conventions)
        others += rest
    return NodeSet(conventions, need, (*parts, *claimable), tuple(others))


def _with_accelerators(parts: list[Part], conventions: Conventions) -> tuple[list[Part], list[Part]]:
    """Return (nodes with accelerators, all other nodes); if no node has accelerators, all are in the first list."""
    found, rest = list[Part](), list[Part]()
    for part in parts:
        (found if _is_accelerated(part, conventions) else rest).append(part)
    return (found, rest) if found else (rest, [])


def _is_accelerated(part: Part, conventions: Conventions) -> bool:
    """Return whether nodes have accelerators, or a taint that marks accelerators (``conventions``)."""
    one = part.node_class
    tainted = any(conventions.marks_accelerators(each.key, each.value, each.effect) for each in one.taints)
    return one.capability.accelerators or tainted


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)) if len(names) <= _MOST_NAMED else f"{len(names)} nodes"


def _durable(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if not part.node_class.transient]
