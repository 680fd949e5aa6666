"""The facts of one cluster at one moment: the kept fields of each object, and facts derived from several objects.

``fold`` adds any object. The facts do not depend on the order in which the objects came, or on earlier versions of the
objects. An object that cannot be used gets a line in ``problems``, and does not affect other objects. The facts say
whether a topology document is stale; the caller passes the time.
"""

from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final, cast

from ..devices.claims import Accelerators, KnownDevices
from ..errors import TopologyError
from ..kinds.queues import QueueKind
from ..kinds.systems import NATIVE_GROUP
from ..kube.object_names import NamespacedName
from ..kube.shape import shown
from ..kube.unchecked import mapping_at
from ..topology.heartbeats import has_run_out
from ..topology.manifest import judge
from ..topology.node import Node
from ..topology.pod_groups import GroupKey, PodGroup
from ..topology.queues import Queues
from ..wellknown import NAMESPACE
from .object_kinds import (
    CONFIG_MAP,
    HEARTBEAT,
    NAMESPACE_KIND,
    NODE,
    OF_NODES,
    OWNER_GROUPS,
    TOPOLOGY,
    Document,
    Kind,
    KindRole,
    ObjectKey,
    group_of,
    is_at_home,
    is_topology,
    kinds_of,
    of_role,
    unlist,
)
from .table import Table

SYSTEM_CLASS: Final = "system-node-critical"
"""A PriorityClass that every API server creates and nobody may delete. If it is known, all of them are known."""

_EMPTY: Final = Table()
_NATIVE: Final = tuple(kind for kind in of_role("pod group") if kind.group == NATIVE_GROUP)


@dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """The facts of a cluster. Derived facts are computed when they are first read, and cached."""

    tables: Mapping[Kind, Table] = field(default_factory=dict)
    """The tables of facts, by the kind of the objects; a kind without known facts is left out."""
    unusable: Mapping[tuple[Kind, ObjectKey], str] = field(default_factory=dict)
    """The reason why an object cannot be read, by the object's kind and place (namespace and name)."""
    remarks: tuple[str, ...] = ()
    """Problems of the documents that the facts were read from, such as a repeated name."""
    now: datetime | None = None
    """The time with which heartbeats are compared; None (a snapshot in CI): no topology document counts as stale."""
    listed: bool = False
    """Whether the facts come from complete lists of the API server; False: from files, and they may be partial."""
    served: frozenset[str] = frozenset()
    """The API groups that certainly serve PodGroups, in addition to those that ``served_groups`` finds by itself."""
    is_groupless: bool = False
    """Whether API discovery says that the cluster serves no PodGroups and no queues that podberth reads."""
    is_makerless: bool = False
    """Whether no replica of podberth's controller runs, so nothing makes the PodGroups that policies name."""
    is_claimless: bool = False
    """Whether API discovery says that the cluster serves no ResourceClaimTemplates in a version that podberth reads."""
    assumed: frozenset[str] = frozenset()
    """The names of Namespaces that no file has, but that must exist; only the label for their name is known."""
    cut_queues: frozenset[QueueKind] = frozenset()
    """The kinds of queues of which not all queues are known: there are too many queues, or a queue cannot be read."""

    # ---- how facts become known -------------------------------------------------------------------------------------

    def fold(self, *documents: object) -> "ClusterFacts":
        """Return the facts with the given objects, or lists of objects, added; an object replaces its earlier version.

        An object without a name, or of a kind that podberth does not read, is ignored. The documents are neither copied
        nor changed.
        """
        changes: dict[Kind, dict[ObjectKey, Any]] = {}
        unusable = dict(self.unusable)
        for kind, place, document in _identified(documents):
            unusable.pop((kind, place), None)
            fact = None
            try:
                fact = kind.fact(document)
            except TopologyError as error:
                unusable[kind, place] = str(error)
            changes.setdefault(kind, {})[place] = fact
        tables = {kind: self.tables.get(kind, _EMPTY).changed(kind, each) for kind, each in changes.items()}
        return self.with_tables(tables, unusable=unusable)

    def with_tables(self, tables: Mapping[Kind, Table], **others: Any) -> "ClusterFacts":
        """Return a copy of the facts with other tables.

        Each table of ``tables`` replaces the table for the same Kubernetes kind. ``others`` are the names and new
        values of further fields of the facts.
        """
        known = {kind: each for kind, each in {**self.tables, **tables}.items() if each.facts}
        return self._derived(replace(self, tables=known, **others))

    def with_workloads(self, known: "ClusterFacts") -> "ClusterFacts":
        """Return a copy of the facts ``known``, with the Namespaces and ConfigMaps of ``self``."""
        own = {kind: self.tables.get(kind, _EMPTY) for kind in (NAMESPACE_KIND, CONFIG_MAP)}
        return self._derived(known.with_tables(own))

    def without_nodes(self) -> "ClusterFacts":
        """Return the facts without Nodes, topology documents and Leases, which an index of the nodes has already."""
        return replace(self, tables={kind: each for kind, each in self.tables.items() if kind not in OF_NODES})

    def _derived(self, made: "ClusterFacts") -> "ClusterFacts":
        """Return ``made`` with those cached results of ``self`` added that were computed from tables of ``made``."""
        for name, kinds in _FOLLOWS_FROM.items():
            if name in vars(self) and all(made.tables.get(kind) is self.tables.get(kind) for kind in kinds):
                vars(made)[name] = vars(self)[name]
        return made

    def _known(self, *roles: KindRole) -> Mapping[Any, Any]:
        """Return a mapping from an object's key to its kept fields, for all kinds whose ``Kind.role`` is in ``roles``.

        The key is a name, a namespace and name, or one of the keys that ``Kind.keys`` returns.
        If objects of two kinds have the same key, the mapping has the object of the first kind.
        """
        return _chained(*(self.tables[kind].known for kind in of_role(*roles) if kind in self.tables))

    def _at(self, kind: Kind) -> Mapping[Any, Any]:
        return self.tables.get(kind, _EMPTY).known

    # ---- what follows from them -------------------------------------------------------------------------------------

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes sorted by name, each with its topology document and whether the topology document is stale."""
        nodes, topologies, beats = self._at(NODE), self._at(TOPOLOGY), self._at(HEARTBEAT)
        found = []
        for name in sorted(nodes):
            topology, beat = topologies.get((NAMESPACE, name)), beats.get((NAMESPACE, name))
            # No Lease is no proof: the document may come from a file.
            silent = self.now is not None and beat is not None and has_run_out(beat, self.now)
            found.append(judge(nodes[name], topology, stale=silent and topology is not None))
        return tuple(found)

    @property
    def problems(self) -> tuple[str, ...]:
        """Sorted messages about the objects that are not used, each with the reason."""
        nodes = {*self._at(NODE), *(place for kind, place in self.unusable if kind is NODE)}
        topologies = [*self._at(TOPOLOGY), *(place for kind, place in self.unusable if kind is TOPOLOGY)]
        orphans = [
            f"ConfigMap {name}: topology of a node that is not there"
            for space, name in topologies
            if space == NAMESPACE and name not in nodes
        ]
        return tuple(sorted([*self.remarks, *self.unusable.values(), *orphans]))

    @property
    def namespaces(self) -> Mapping[str, Document]:
        """A mapping from name to Namespace object."""
        return self._at(NAMESPACE_KIND)

    @property
    def config_maps(self) -> Mapping[NamespacedName, Document]:
        """The ConfigMaps that policies may read as params, by namespace and name; without topology documents."""
        return self._at(CONFIG_MAP)

    @cached_property
    def pod_groups(self) -> Mapping[GroupKey, PodGroup]:
        """A mapping from (API group, namespace, name) to each known PodGroup, also to PodGroups that state no size."""
        return self._known("pod group")

    def group_size(self, key: GroupKey) -> int:
        """Return the smallest number of pods that a PodGroup starts together; 0 if unknown, or if it states none."""
        group = self.pod_groups.get(key)
        return 0 if group is None else group.size

    @property
    def _native(self) -> Mapping[NamespacedName, PodGroup]:
        """A mapping from (namespace, name) to each of Kubernetes' own PodGroups (``scheduling.k8s.io``)."""
        return next((self.tables[kind].facts for kind in _NATIVE if kind in self.tables), {})

    @cached_property
    def native_groups(self) -> Mapping[str, frozenset[str]]:
        """A mapping from namespace to the names of Kubernetes' own PodGroups (``scheduling.k8s.io``)."""
        found: dict[str, set[str]] = {}
        for namespace, name in self._native:
            found.setdefault(namespace, set()).add(name)
        return {namespace: frozenset(names) for namespace, names in found.items()}

    @cached_property
    def served_groups(self) -> frozenset[str]:
        """The API groups whose PodGroups the cluster serves.

        A group is served if a PodGroup of the group exists, or if API discovery lists PodGroup in the group.
        """
        held = {kind.group for kind in of_role("pod group") if kind in self.tables}
        return self.served | held | set(self._known("discovery").values())

    @cached_property
    def queues(self) -> Queues:
        """The known queues of Kueue, Volcano and KAI."""
        return Queues(self._known("queue"), self.cut_queues, self.listed)

    @cached_property
    def owners(self) -> Mapping[str, Document]:
        """The kept fields of each known owner of pods, such as a Job, by the owner's uid.

        An owner of a kind with ``OwnerKind.by_name`` also has the key ``kind/namespace/name``.
        """
        return self._known("owner")

    @cached_property
    def class_resources(self) -> frozenset[str]:
        """The extended resources that DeviceClasses offer, including the implicit name of each class (KEP-5004)."""
        return frozenset().union(*(each.resources for each in self._known("class").values()))

    @cached_property
    def devices(self) -> KnownDevices:
        """The known DRA objects: the devices that claims and templates ask for, and the devices of each DeviceClass."""
        resources: Accelerators = {}
        classes = self._known("class")
        for name in sorted(classes):
            resources |= classes[name].accelerators
        shared = {place: group.claims for place, group in self._native.items() if group.claims}
        return KnownDevices(
            claims=self._known("claim"),
            templates=_chained(self._known("template"), self._channels),
            groups=shared,
            resources=resources,
            others=frozenset(name for name, each in classes.items() if each.hands_out_others),
        )

    @cached_property
    def _channels(self) -> Mapping[NamespacedName, Any]:
        return {key: domain.requests for key, domain in self._known("compute domain").items()}

    @cached_property
    def default_priority_class(self) -> str:
        """The name of the global default PriorityClass; empty if none is known.

        If several PriorityClasses are the global default, the API server takes the class with the lowest value
        (plugin/pkg/admission/priority). If classes have equal values, podberth takes the first by name.
        """
        values = {name: each.default_value for name, each in self._known("priority class").items()}
        defaults = [(value, name) for name, value in values.items() if value is not None]
        return min(defaults, default=(0, ""))[1]

    @property
    def priority_classes(self) -> frozenset[str]:
        """The names of the known PriorityClasses.

        All classes of the cluster are known if the names include ``system-node-critical``, a class that every cluster
        has.
        """
        return frozenset(self._known("priority class"))


_FOLLOWS_FROM: Final[Mapping[str, tuple[Kind, ...]]] = {
    "nodes": OF_NODES,
    "pod_groups": of_role("pod group"),
    "native_groups": _NATIVE,
    "owners": of_role("owner"),
    "class_resources": of_role("class"),
    "devices": (*of_role("class", "claim", "template", "compute domain"), *_NATIVE),
    "_channels": of_role("compute domain"),
    "default_priority_class": of_role("priority class"),
}
"""The kinds of objects from which each derived fact is computed; a cached fact is valid until their tables change."""


def _identified(documents: Iterable[object]) -> Iterator[tuple[Kind, ObjectKey, Document]]:
    """Yield (row of the table ``KINDS``, object's identity, object) for each object that podberth reads.

    The identity is the object's namespace and name. An object that several rows of ``KINDS`` read is yielded once for
    each row.
    """
    for document in documents:
        for single in unlist(document):
            for kind in kinds_of(single):
                place = kind.place(single)
                if place is not None:
                    yield kind, place, single


def _chained(*tables: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return one view of several mappings; if several mappings have a key, the value of the first mapping counts."""
    held = [each for each in tables if each]
    return ChainMap(*cast("list[dict[Any, Any]]", held)) if len(held) > 1 else held[0] if held else {}


# ---- snapshots in files ----------------------------------------------------------------------------------------------


def collect(documents: Iterable[object], *, now: datetime | None) -> ClusterFacts:
    """Return the facts of all objects in ``documents``, with the problems of the documents in the field ``remarks``.

    Args:
        documents: what ``kubectl get … -o yaml`` prints, lists included; neither copied nor changed.
        now: the current time, for facts that depend on time; None if unknown.
    """
    given = list(documents)
    return ClusterFacts(now=now, remarks=tuple(_remarks(given))).fold(*given)


def _remarks(documents: Iterable[object]) -> Iterator[str]:
    """Yield messages about documents without a name, with a repeated name, or of a kind that podberth does not read."""
    seen: set[tuple[Kind, ObjectKey]] = set()
    unread: Counter[str] = Counter()
    for single in (single for document in documents for single in unlist(document)):
        version, kind, name = single.get("apiVersion"), single.get("kind"), mapping_at(single, "metadata").get("name")
        rows = kinds_of(single)
        if kind == "APIResourceList":
            continue
        if not (isinstance(version, str) and isinstance(kind, str) and isinstance(name, str) and name):
            got = f"apiVersion {shown(version)}, kind {shown(kind)}, name {shown(name)}"
            yield f"document: got {got}; want all three"
            continue
        if not rows and group_of(single) not in OWNER_GROUPS:
            unread[f"{version} {kind}"] += 1
        for row in rows:
            place = row.place(single)
            if place is None or not _stands_once(row, single):
                continue
            if (row, place) in seen:
                yield f"{kind} {name}: given twice; the later one counts"
            seen.add((row, place))
    yield from (f"{kind}: passed over {count}; nothing is known from this kind" for kind, count in unread.items())


def _stands_once(kind: Kind, document: Document) -> bool:
    """Return whether files may have only one object with the kind and name of ``document``.

    This is so for Nodes, Namespaces, topology documents and heartbeat Leases. Any other object may be in the files
    twice, in two API versions.
    """
    if kind in OF_NODES and kind is not NODE and not is_at_home(document):
        return False
    return kind in (NODE, NAMESPACE_KIND, HEARTBEAT) or (kind is TOPOLOGY and is_topology(document))
