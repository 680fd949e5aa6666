"""The cluster's objects, picked from a heap of documents: a snapshot's files or what the watches hold.

Takes what ``kubectl get … -o yaml`` prints, lists included. A document that cannot be used is a line in ``problems``
and costs only itself. Here, and not in the index, it is decided what is stale, against a time that the caller passes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ..devices.claims import (
    Accelerators,
    ClaimNames,
    DeviceRequest,
    KnownDevices,
    class_accelerators,
    class_resources,
    hands_out_others,
    is_generated,
    read_claim,
    read_compute_domain,
    read_template,
    shared_claims,
)
from ..errors import TopologyError
from ..kinds.queues import LOCAL_QUEUE, Queue, QueueKind
from ..kinds.systems import NATIVE_GROUP
from ..kube.pod import by_name
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL
from .codec import decode_topology
from .heartbeats import read_heartbeat
from .manifest import decode_node
from .model import Node, NodeTopology
from .pod_groups import POD_GROUP_GROUPS, GroupKey, min_member, served_pod_groups
from .queues import QUEUE_KINDS, QueueKey, read_queue

Document = dict[str, Any]
NamespacedName = tuple[str, str]

SYSTEM_CLASS: Final = "system-node-critical"
"""The PriorityClass that every API server makes and nobody may delete: who knows it has been told of all."""

# API groups whose objects create pods of gangs and say how many (sources: the owners of the dossiers).
# An owner is looked up by uid, so whatever else is in these groups does no harm.
OWNER_GROUPS: frozenset[str] = frozenset(
    {
        "apps",
        "batch",
        "batch.volcano.sh",
        "grove.io",
        "jobset.x-k8s.io",
        "kubeflow.org",
        "leaderworkerset.x-k8s.io",
        "ray.io",
        "sparkoperator.k8s.io",
        "trainer.kubeflow.org",
        "workload.codeflare.dev",
        "workloads.x-k8s.io",
    }
)
NAMED_OWNERS = frozenset({"SparkApplication"})
"""Those that pods of others name: known by their names, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterObjects:
    """What podberth needs to know of a cluster."""

    nodes: tuple[Node, ...] = ()
    """In order of name."""
    namespaces: Mapping[str, Document] = field(default_factory=dict)
    config_maps: Mapping[NamespacedName, Document] = field(default_factory=dict)
    """By namespace and name: possible parameters of policies; topology documents are not among them."""
    pod_groups: frozenset[NamespacedName] = frozenset()
    """Kubernetes' own (scheduling.k8s.io), by namespace and name."""
    group_sizes: Mapping[GroupKey, int] = field(default_factory=dict)
    """How many pods the PodGroups of all systems let start together at the least; 0 of a group that does not say."""
    served_groups: frozenset[str] = frozenset()
    """API groups whose PodGroups the cluster serves: of which there is one, or discovery names the kind."""
    queues: Mapping[QueueKey, Queue] = field(default_factory=dict)
    """Of Kueue, Volcano and KAI."""
    cut_queues: frozenset[QueueKind] = frozenset()
    """Kinds of queues of which some are left out: there were too many, or one that cannot be read."""
    listed: bool = False
    """Whether the API server was asked for all of each kind; else they come from files, which may hold a part."""
    owners: Mapping[str, Document] = field(default_factory=dict)
    """Workload objects by uid."""
    class_resources: frozenset[str] = frozenset()
    """Extended resource names that DeviceClasses serve, the implicit names included."""
    devices: KnownDevices = field(default_factory=KnownDevices)
    """What claims and their templates ask for, and what DeviceClasses hand out."""
    default_priority_class: str = ""
    """The global default PriorityClass; empty where none is known."""
    priority_classes: frozenset[str] = frozenset()
    """Names of those that are known; ``SYSTEM_CLASS`` is among them where they are all."""
    problems: tuple[str, ...] = ()
    """What could not be used and why, sorted."""


class _Heap:
    """Documents sorted by what they are; for ``collect`` only."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.nodes: dict[str, Document] = {}
        self.topologies: dict[str, Document] = {}
        self.leases: dict[str, Document] = {}
        self.namespaces: dict[str, Document] = {}
        self.config_maps: dict[NamespacedName, Document] = {}
        self.pod_groups: set[NamespacedName] = set()
        self.group_sizes: dict[GroupKey, int] = {}
        self.served_groups: set[str] = set()
        self.queues: dict[QueueKey, Queue] = {}
        self.claims: dict[NamespacedName, tuple[DeviceRequest, ...]] = {}
        self.claim_templates: dict[NamespacedName, tuple[DeviceRequest, ...]] = {}
        self.channels: dict[NamespacedName, tuple[DeviceRequest, ...]] = {}
        self.group_claims: dict[NamespacedName, ClaimNames] = {}
        self.class_accelerators: Accelerators = {}
        self.other_classes: set[str] = set()
        self.owners: dict[str, Document] = {}
        self.class_resources: set[str] = set()
        self.priority_classes: dict[str, int | None] = {}
        self.unknown: Counter[str] = Counter()
        self.problems: list[str] = []

    def add(self, document: Document) -> None:
        """File one document; what has no name is a problem."""
        version, kind = document.get("apiVersion"), document.get("kind")
        if kind == "APIResourceList":
            self.served_groups |= served_pod_groups(document)
            return
        metadata = document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not (isinstance(version, str) and isinstance(kind, str) and isinstance(name, str) and name):
            self.problems.append(f"document: got apiVersion {version!r}, kind {kind!r}, name {name!r}; want all three")
            return
        # metadata is a dict, for it has a name
        place = (_namespace_of(document), name)
        group = version.rpartition("/")[0]
        match group, kind:
            case "", "Node":
                self._add_once(self.nodes, name, document)
            case "", "Namespace":
                self._add_once(self.namespaces, name, document)
            case "", "ConfigMap":
                self._add_config_map(place, document)
            case "coordination.k8s.io", "Lease":
                if place[0] == self.namespace:
                    self._add_once(self.leases, name, document)
            case _, "PodGroup" if group in POD_GROUP_GROUPS:
                self._add_pod_group(group, place, document)
            case "resource.k8s.io", _:
                self._add_devices(place, document)
            case _:
                self._add_other(group, place, document)

    def _add_other(self, group: str, place: NamespacedName, document: Document) -> None:
        kind = document["kind"]
        match group, kind:
            case "scheduling.k8s.io", "PriorityClass":
                self._add_priority_class(document)
            case "resource.nvidia.com", "ComputeDomain":
                self._add_compute_domain(place[0], document)
            case _ if (group, kind) in QUEUE_KINDS:
                self._add_queue((group, kind), place, document)
            case _ if group in OWNER_GROUPS:
                self._add_owner(place, document)
            case _:
                self._pass_over(document)

    def _add_pod_group(self, group: str, place: NamespacedName, document: Document) -> None:
        self.served_groups.add(group)
        if group == NATIVE_GROUP:
            self.pod_groups.add(place)
            shared = shared_claims(document)
            if shared:
                self.group_claims[place] = shared
        self.group_sizes[group, *place] = min_member(group, document)

    def _add_queue(self, kind: QueueKind, place: NamespacedName, document: Document) -> None:
        namespace = place[0] if kind == LOCAL_QUEUE else ""
        self.queues[*kind, namespace, place[1]] = read_queue(kind, document)

    def _add_devices(self, place: NamespacedName, document: Document) -> None:
        match document["kind"]:
            case "DeviceClass":
                self.class_resources |= class_resources(document)
                self.class_accelerators |= class_accelerators(document)
                if hands_out_others(document):
                    self.other_classes.add(place[1])
            case "ResourceClaim":
                if not is_generated(document):
                    self.claims[place] = read_claim(document)
            case "ResourceClaimTemplate":
                self.claim_templates[place] = read_template(document)
            case _:
                self._pass_over(document)

    def _add_compute_domain(self, namespace: str, document: Document) -> None:
        channel = read_compute_domain(document)
        if channel is not None:
            self.channels[namespace, channel[0]] = channel[1]

    def _pass_over(self, document: Document) -> None:
        self.unknown[f"{document['apiVersion']} {document['kind']}"] += 1

    def _add_once(self, filed: dict[str, Document], name: str, document: Document) -> None:
        if name in filed:
            self.problems.append(f"{document['kind']} {name}: given twice; the later one counts")
        filed[name] = document

    def _add_config_map(self, place: NamespacedName, document: Document) -> None:
        labels = document["metadata"].get("labels")
        if not isinstance(labels, dict) or TOPOLOGY_LABEL not in labels:
            self.config_maps[place] = document
        elif place[0] == self.namespace:
            self._add_once(self.topologies, place[1], document)
        else:
            # Anyone who may write ConfigMaps in some namespace could describe any node.
            self.problems.append(
                f"ConfigMap {place[0]}/{place[1]}: labelled {TOPOLOGY_LABEL} outside of {self.namespace}; passed over"
            )

    def _add_priority_class(self, document: Document) -> None:
        self.priority_classes[document["metadata"]["name"]] = default_value(document)

    def _add_owner(self, place: NamespacedName, document: Document) -> None:
        uid = document["metadata"].get("uid")
        if isinstance(uid, str) and uid:
            document = _in_namespace(document, place[0])
            self.owners[uid] = document
            if document["kind"] in NAMED_OWNERS:
                self.owners[by_name(document["kind"], *place)] = document


def collect(documents: Iterable[Document], *, now: datetime | None, namespace: str = NAMESPACE) -> ClusterObjects:
    """Sort and decode documents.

    Args:
        documents: objects or lists of objects; the caller's, not copied and not changed.
        now: the time to hold heartbeats against; None where nothing is to be called stale (a snapshot in CI).
        namespace: where topology ConfigMaps and heartbeat Leases live.
    """
    heap = _Heap(namespace)
    for document in documents:
        for single in unlist(document):
            heap.add(single)
    topologies = _decode_topologies(heap)
    nodes = []
    for name in sorted(heap.nodes):
        stale = name in topologies and now is not None and is_stale(heap.leases.get(name), now)
        try:
            nodes.append(decode_node(heap.nodes[name], topologies.get(name), stale=stale))
        except TopologyError as error:
            heap.problems.append(str(error))
    counted = [f"{kind}: passed over {count}; nothing is known from this kind" for kind, count in heap.unknown.items()]
    return ClusterObjects(
        nodes=tuple(nodes),
        namespaces=heap.namespaces,
        config_maps=heap.config_maps,
        pod_groups=frozenset(heap.pod_groups),
        group_sizes=heap.group_sizes,
        served_groups=frozenset(heap.served_groups),
        queues=heap.queues,
        owners=heap.owners,
        class_resources=frozenset(heap.class_resources),
        devices=KnownDevices(
            claims=heap.claims,
            templates={**heap.channels, **heap.claim_templates},
            groups=heap.group_claims,
            resources=heap.class_accelerators,
            others=frozenset(heap.other_classes),
        ),
        default_priority_class=global_default(heap.priority_classes),
        priority_classes=frozenset(heap.priority_classes),
        problems=tuple(sorted([*heap.problems, *counted])),
    )


def default_value(priority_class: Document) -> int | None:
    """Return the value of a PriorityClass that is the global default; None of another."""
    value = priority_class.get("value")
    return value if priority_class.get("globalDefault") is True and isinstance(value, int) else None


def global_default(priority_classes: Mapping[str, int | None]) -> str:
    """Return the name of the global default, of classes with ``default_value``; empty where there is none.

    Of several, the API server takes the one of the lowest value (plugin/pkg/admission/priority).
    """
    values = {name: value for name, value in priority_classes.items() if value is not None}
    return min(values, key=lambda name: values[name], default="")


def is_stale(lease: Mapping[str, Any] | None, now: datetime) -> bool:
    """Tell whether a heartbeat Lease has run out: last renewed longer ago than it lasts.

    No Lease is no proof (the document may come from a file). One that cannot be read is as good as none renewed.
    """
    if lease is None:
        return False
    beat = read_heartbeat(lease)
    return beat is None or (now - beat.renewed).total_seconds() > beat.seconds


def _decode_topologies(heap: _Heap) -> dict[str, NodeTopology]:
    decoded = {}
    for name, document in heap.topologies.items():
        try:
            decoded[name] = decode_topology(document)
        except TopologyError as error:
            heap.problems.append(str(error))
        if name not in heap.nodes:
            heap.problems.append(f"ConfigMap {name}: topology of a node that is not there")
    return decoded


def unlist(document: object) -> Iterator[Document]:
    """Yield the objects of a list, or the object itself. Items of a raw ``NodeList`` do not repeat their kind."""
    if not isinstance(document, dict):
        yield {"kind": type(document).__name__}
        return
    kind, items = document.get("kind"), document.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield document
        return
    for item in items:
        if isinstance(item, dict) and kind != "List":
            yield {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        else:
            yield item if isinstance(item, dict) else {"kind": type(item).__name__}


def _in_namespace(document: Document, namespace: str) -> Document:
    """Return an object that says its namespace, by which its pods find it."""
    metadata = document["metadata"]
    if metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def _namespace_of(document: Document) -> str:
    """Return the namespace; kubectl's own default where there is none."""
    namespace = document["metadata"].get("namespace")
    return namespace if isinstance(namespace, str) and namespace else "default"
