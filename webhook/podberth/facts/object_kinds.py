"""The Kubernetes kinds that podberth reads, with the versions, the identity and the kept fields of their objects.

The table ``KINDS`` has a row for each kind. Files, watches, lists and checks all use ``KINDS``. ``read`` returns the
kept fields, or None if podberth needs nothing of the object. So the memory for a cluster depends on the kept fields,
and not on the size of the cluster's objects.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..devices.claims import (
    Accelerators,
    ClaimRequest,
    ComputeDomain,
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
from ..kinds.dossier import OwnerKind
from ..kinds.systems import NATIVE_GROUP, POD_GROUPS
from ..kube.object_names import NamespacedName
from ..kube.pod import by_name
from ..kube.shape import type_name
from ..kube.unchecked import mapping_at, text_at
from ..topology.codec import decode_topology
from ..topology.heartbeats import Heartbeat, read_heartbeat
from ..topology.manifest import read_node
from ..topology.node import NodeTopology
from ..topology.pod_groups import POD_GROUP_KINDS, PodGroup, asks_topology, min_member, served_pod_groups
from ..topology.queues import QUEUE_FORMS
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL
from ..workload.owners import OWNER_KINDS, PARENT_GROUPS, keep

Document: TypeAlias = dict[str, Any]
ObjectKey: TypeAlias = str | NamespacedName
"""The identity of an object within its kind: its name, or its namespace and name."""
KindRole: TypeAlias = Literal[
    "node",
    "topology",
    "heartbeat",
    "namespace",
    "config map",
    "discovery",
    "priority class",
    "class",
    "claim",
    "template",
    "compute domain",
    "pod group",
    "queue",
    "owner",
    "policy",
    "exception",
]
"""The role of a kind: the purpose for which podberth reads the kind's objects."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A Kubernetes kind whose objects podberth reads: a row of the table ``KINDS``."""

    role: KindRole
    group: str
    versions: tuple[str, ...]
    """The versions that podberth can read; the first one that the cluster serves is followed."""
    kind: str
    plural: str
    read: Callable[[Document], Any]
    """The function that returns the fact of an object; None: podberth does not need the object.

    The function raises ValueError or TopologyError if the object cannot be read.
    """
    keys: Callable[[Any, Any], tuple[Hashable, ...]] | None = None
    """The function that returns the keys under which a fact is looked up, from the object's place and the fact.

    None: facts of the kind are looked up by the object's place (namespace and name).
    """
    of_cluster: bool = False
    """Whether the kind is cluster-scoped."""
    is_followed: bool = True
    """Whether a watch follows the kind if the cluster serves the kind.

    If False, every cluster serves the kind, or podberth looks up the kind's objects one by one.
    """

    @property
    def name(self) -> str:
        """The name of the kind for kubectl: ``PLURAL.GROUP``. Kinds with the same plural have different names."""
        return f"{self.plural}.{self.group}"

    def place(self, document: Document) -> ObjectKey | None:
        """Return the name of an object, or (namespace, name) for a namespaced kind; None if the object has no name.

        An object without a namespace is in ``default``. For an answer of API discovery, the result is its groupVersion.
        """
        if self.role == "discovery":  # an answer of API discovery has no name but its groupVersion
            found = document.get("groupVersion")
            return found if isinstance(found, str) else None
        metadata = mapping_at(document, "metadata")
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if not (isinstance(name, str) and name):
            return None
        if self.of_cluster:
            return name
        return namespace if isinstance(namespace, str) and namespace else "default", name

    def place_of(self, name: str) -> ObjectKey:
        """Return the identity of an object from the text ``namespace/name`` in a watch's report.

        For a cluster-scoped object the text is only the name, and the identity is the name.
        """
        namespace, _, own = name.rpartition("/")
        return own if self.of_cluster else (namespace, own)

    def fact(self, document: Document) -> Any:
        """Return the fact (the kept fields) of an object; None if podberth does not need the object.

        Raises:
            TopologyError: the object cannot be read.
        """
        try:
            return self.read(document)
        except ValueError as error:
            raise TopologyError(f"{self.name} {_where(document)}: {error}") from error


def _where(document: Document) -> str:
    return "/".join(filter(None, (text_at(document, "metadata", each) for each in ("namespace", "name"))))


class PriorityClass(NamedTuple):
    """The fields of a PriorityClass that podberth keeps."""

    default_value: int | None
    """The value of the PriorityClass if it is the global default; else None."""


class DeviceClass(NamedTuple):
    """The fields of a DeviceClass that podberth keeps."""

    resources: frozenset[str]
    """The extended resources by which a pod can request a device of the class."""
    accelerators: Accelerators
    """The resources of the class that ``devices.resources`` does not list, if the class has GPUs."""
    hands_out_others: bool
    """Whether the drivers that the class names have no accelerators."""


# ---- nodes -----------------------------------------------------------------------------------------------------------

# A Lease that cannot be read counts as never renewed.
_NEVER_RENEWED: Final = Heartbeat(datetime.min.replace(tzinfo=UTC), 0)


def is_topology(document: Document) -> bool:
    """Return whether a ConfigMap is, or claims to be, a topology document of the node agent."""
    return TOPOLOGY_LABEL in mapping_at(document, "metadata", "labels")


def _topology(document: Document) -> NodeTopology | None:
    if not is_topology(document):
        return None
    if not is_at_home(document):
        # Anyone who may write ConfigMaps in some namespace could describe any node.
        where = _where(document)
        raise TopologyError(f"ConfigMap {where}: labelled {TOPOLOGY_LABEL} outside of {NAMESPACE}; passed over")
    return decode_topology(document)


def is_at_home(document: Document) -> bool:
    """Return whether an object is in podberth's own namespace, ``podberth-system``."""
    return text_at(document, "metadata", "namespace") == NAMESPACE


def _heartbeat(document: Document) -> Heartbeat | None:
    return (read_heartbeat(document) or _NEVER_RENEWED) if is_at_home(document) else None


NODE: Final = Kind("node", "", ("v1",), "Node", "nodes", read_node, of_cluster=True, is_followed=False)
TOPOLOGY: Final = Kind("topology", "", ("v1",), "ConfigMap", "configmaps", _topology, is_followed=False)
HEARTBEAT: Final = Kind("heartbeat", "coordination.k8s.io", ("v1",), "Lease", "leases", _heartbeat, is_followed=False)
OF_NODES: Final = (NODE, TOPOLOGY, HEARTBEAT)

# ---- what policies read ----------------------------------------------------------------------------------------------


def _config_map(document: Document) -> Document | None:
    return None if is_topology(document) else document


NAMESPACE_KIND: Final = Kind(
    "namespace", "", ("v1",), "Namespace", "namespaces", lambda each: each, of_cluster=True, is_followed=False
)
CONFIG_MAP: Final = Kind("config map", "", ("v1",), "ConfigMap", "configmaps", _config_map, is_followed=False)

# ---- what decisions on workloads depend on ---------------------------------------------------------------------------

# GA in 1.34. The fields that podberth reads are the same in both betas, except for `exactly` (kubernetes/api resource).
_DRA_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")


def _discovery(document: Document) -> str | None:
    return served_pod_groups(document) or None


def _priority_class(document: Document) -> PriorityClass:
    value = document.get("value")
    return PriorityClass(value if document.get("globalDefault") is True and isinstance(value, int) else None)


def _device_class(document: Document) -> DeviceClass:
    return DeviceClass(class_resources(document), class_accelerators(document), hands_out_others(document))


def _claim(document: Document) -> tuple[ClaimRequest, ...] | None:
    return None if is_generated(document) else read_claim(document)


def _domain_keys(place: NamespacedName, fact: ComputeDomain) -> tuple[NamespacedName]:
    return ((place[0], fact.template),)


def _pod_group(group: str, document: Document) -> PodGroup:
    shared = shared_claims(document) if group == NATIVE_GROUP else frozenset()
    return PodGroup(min_member(group, document), shared, asks_topology(group, document))


def _placed(kind: tuple[str, ...], place: ObjectKey, _: object) -> tuple[tuple[str, ...]]:
    namespace, name = ("", place) if isinstance(place, str) else place
    return ((*kind, namespace, name),)


def _owner(kind: OwnerKind, document: Document) -> Document | None:
    kept = keep(kind, document)
    if kept is not None:
        kept["metadata"]["namespace"] = kept["metadata"]["namespace"] or "default"  # pods look it up in this namespace
    return kept


def _owner_keys(kind: OwnerKind, place: NamespacedName, fact: Document) -> tuple[str, ...]:
    uid: str = fact["metadata"]["uid"]
    return (uid, by_name(kind.kind, *place)) if kind.by_name else (uid,)


_DEVICES: Final = "resource.k8s.io"
# The output of `kubectl get --raw /apis/scheduling.k8s.io/v1beta1` (meta/v1): a served group may have no objects.
_LIST: Final = "APIResourceList"

KINDS: Final[tuple[Kind, ...]] = (
    NODE,
    TOPOLOGY,
    HEARTBEAT,
    NAMESPACE_KIND,
    CONFIG_MAP,
    Kind("discovery", "", ("v1",), _LIST, "apiresourcelists", _discovery, of_cluster=True, is_followed=False),
    Kind("priority class", NATIVE_GROUP, ("v1",), "PriorityClass", "priorityclasses", _priority_class, of_cluster=True),
    Kind("class", _DEVICES, _DRA_VERSIONS, "DeviceClass", "deviceclasses", _device_class, of_cluster=True),
    Kind("claim", _DEVICES, _DRA_VERSIONS, "ResourceClaim", "resourceclaims", _claim),
    Kind("template", _DEVICES, _DRA_VERSIONS, "ResourceClaimTemplate", "resourceclaimtemplates", read_template),
    Kind(
        "compute domain",
        "resource.nvidia.com",
        ("v1beta1",),
        "ComputeDomain",
        "computedomains",
        read_compute_domain,
        _domain_keys,
    ),
    *(
        Kind(
            "pod group",
            group,
            versions,
            "PodGroup",
            POD_GROUPS,
            partial(_pod_group, group),
            partial(_placed, (group,)),
        )
        for group, versions in sorted((each.api_groups[0], each.versions) for each in POD_GROUP_KINDS)
    ),
    *(
        Kind(
            "queue",
            kind[0],
            form.versions,
            kind[1],
            form.plural,
            form.read,
            partial(_placed, kind),
            of_cluster=form.of_cluster,
        )
        for kind, form in QUEUE_FORMS.items()
    ),
    *(
        Kind(
            "owner",
            each.group,
            each.versions,
            each.kind,
            each.plural,
            partial(_owner, each),
            partial(_owner_keys, each),
            is_followed=each.followed,
        )
        for each in OWNER_KINDS
        if each.group  # a Pod that owns others is looked up by name, because there are too many Pods to follow
    ),
)
"""Every kind that podberth reads. ConfigMaps have two rows, because a label marks topology documents."""

FOLLOWED: Final = tuple(kind for kind in KINDS if kind.is_followed)
"""The rows of ``KINDS`` that only some clusters serve; a watch follows each row that the cluster serves."""
_BY_KIND: Final[Mapping[tuple[str, str], tuple[Kind, ...]]] = {
    key: tuple(kind for kind in KINDS if (kind.group, kind.kind) == key) for key in {(k.group, k.kind) for k in KINDS}
}
OWNER_GROUPS: Final = frozenset(each.group for each in OWNER_KINDS if each.group) | PARENT_GROUPS
"""The API groups of workloads. podberth ignores objects of these groups silently if no row of ``KINDS`` reads them."""


def of_role(*roles: KindRole) -> tuple[Kind, ...]:
    """Return the rows of the table ``KINDS`` whose field ``role`` is one of ``roles``, in order."""
    return tuple(kind for kind in KINDS if kind.role in roles)


def group_of(document: Document) -> str:
    """Return the API group of an object of any shape, from the object's apiVersion."""
    version = document.get("apiVersion")
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def kinds_of(document: Document) -> tuple[Kind, ...]:
    """Return the rows of the table ``KINDS`` for an object's apiVersion and kind; empty if podberth ignores it."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind == _LIST:  # some print it without its version
        return _BY_KIND["", kind]
    if not (isinstance(version, str) and isinstance(kind, str)):
        return ()
    return _BY_KIND.get((group_of(document), kind), ())


def in_namespace(document: Document, namespace: str) -> Document:
    """Return an object with the namespace filled in, if the object has none and the kind is namespaced."""
    metadata = mapping_at(document, "metadata")
    if metadata.get("namespace") or any(each.of_cluster for each in kinds_of(document)):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def unlist(document: object) -> Iterator[Document]:
    """Yield the objects in ``document`` if it is a list, or else ``document`` itself.

    The items of a raw ``NodeList`` have no kind, so the kind is added. A value that is no object is replaced by an
    object whose kind is the name of the value's JSON type.
    """
    if not isinstance(document, dict):
        yield {"kind": type_name(document)}
        return
    kind, items = document.get("kind"), document.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield document
        return
    for item in items:
        if isinstance(item, dict) and kind != "List":
            yield {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        else:
            yield item if isinstance(item, dict) else {"kind": type_name(item)}
