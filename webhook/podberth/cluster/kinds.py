"""The kinds that are followed if they are served: their versions, and the facts that are kept of each object.

One row for a kind. A row's ``take`` returns the key for looking an object up and the facts about it, or None if it does
not matter; so a cluster's objects cost the memory of their facts, not of the whole objects.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from ..api.protocol import Document, Resource
from ..devices.claims import is_generated, read_claim, read_compute_domain, read_template, shared_claims
from ..kinds.dossier import OwnerKind
from ..kinds.queues import QueueKind
from ..kinds.systems import NATIVE_GROUP, POD_GROUPS
from ..kube.api_path import collection_path
from ..topology.objects import default_value
from ..topology.pod_groups import POD_GROUP_KINDS, PodGroup, min_member
from ..topology.queues import QUEUE_FORMS, read_queue
from ..workload.owners import OWNER_KINDS, keep

Filed: TypeAlias = tuple[Hashable, Any] | None
Role: TypeAlias = Literal[
    "owner", "pod group", "queue", "class", "claim", "template", "compute domain", "priority class"
]
"""The use of a kind in the core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind that a cluster may serve or not."""

    role: Role
    group: str
    versions: tuple[str, ...]
    """The readable versions; the first one that is served is followed."""
    plural: str
    take: Callable[[Document], Filed]
    owner: str = ""
    """The kind's name in ownerReferences, if it owns pods."""
    of_cluster: bool = False
    """Whether its objects are cluster-scoped."""
    by_name: bool = False
    """Whether its objects are looked up by their names, too (``kube.pod.by_name``)."""

    @property
    def name(self) -> str:
        """The name that kubectl takes, which distinguishes kinds with the same plural."""
        return f"{self.plural}.{self.group}"

    def resource(self, version: str) -> Resource:
        """Return the resource to watch if that version is served."""
        path = collection_path(f"{self.group}/{version}", self.plural)
        return Resource(self.name, path, of_all_namespaces=not self.of_cluster, optional=True)


def _place(document: Document) -> tuple[str, str]:
    metadata: Mapping[str, Any] = document["metadata"]
    return str(metadata.get("namespace") or ""), str(metadata["name"])


def _take_owner(kind: OwnerKind, document: Document) -> Filed:
    kept = keep(kind, document)
    return None if kept is None else (kept["metadata"]["uid"], kept)


def _take_pod_group(group: str, document: Document) -> Filed:
    # A group matters whatever its size: a gang may join it, and no other group of its name is made.
    shared = shared_claims(document) if group == NATIVE_GROUP else frozenset()
    return (group, *_place(document)), PodGroup(min_member(group, document), shared)


def _take_queue(kind: QueueKind, document: Document) -> Filed:
    namespace, name = _place(document)
    return (*kind, namespace, name), read_queue(kind, document)


def _take_class(document: Document) -> Filed:
    spec = document.get("spec")
    fields = spec if isinstance(spec, dict) else {}
    read = {key: fields[key] for key in ("extendedResourceName", "selectors") if key in fields}
    name = document["metadata"]["name"]
    return name, {"metadata": {"name": name}, "spec": read}


def _take_priority_class(document: Document) -> Filed:
    return str(document["metadata"]["name"]), default_value(document)


def _take_claim(document: Document) -> Filed:
    return None if is_generated(document) else (_place(document), read_claim(document))


def _take_template(document: Document) -> Filed:
    return _place(document), read_template(document)


def _take_compute_domain(document: Document) -> Filed:
    channel = read_compute_domain(document)
    return None if channel is None else ((_place(document)[0], channel[0]), channel[1])


# GA in 1.34; the fields that podberth reads are the same in both betas except `exactly` (kubernetes/api resource).
_DRA_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
_POD_GROUP_VERSIONS: Final = {each.api_groups[0]: each.versions for each in POD_GROUP_KINDS}

KINDS: Final[tuple[Kind, ...]] = (
    Kind(
        role="priority class",
        group=NATIVE_GROUP,
        versions=("v1",),
        plural="priorityclasses",
        take=_take_priority_class,
        of_cluster=True,
    ),
    Kind(
        role="class",
        group="resource.k8s.io",
        versions=_DRA_VERSIONS,
        plural="deviceclasses",
        take=_take_class,
        of_cluster=True,
    ),
    Kind(
        role="claim",
        group="resource.k8s.io",
        versions=_DRA_VERSIONS,
        plural="resourceclaims",
        take=_take_claim,
    ),
    Kind(
        role="template",
        group="resource.k8s.io",
        versions=_DRA_VERSIONS,
        plural="resourceclaimtemplates",
        take=_take_template,
    ),
    Kind(
        # Its driver makes the template: until then a pod's channel is known by this.
        role="compute domain",
        group="resource.nvidia.com",
        versions=("v1beta1",),
        plural="computedomains",
        take=_take_compute_domain,
    ),
    *(
        Kind(
            role="pod group",
            group=group,
            versions=versions,
            plural=POD_GROUPS,
            take=partial(_take_pod_group, group),
        )
        for group, versions in sorted(_POD_GROUP_VERSIONS.items())
    ),
    *(
        Kind(
            role="queue",
            group=kind[0],
            versions=form.versions,
            plural=form.plural,
            take=partial(_take_queue, kind),
            of_cluster=form.of_cluster,
        )
        for kind, form in QUEUE_FORMS.items()
    ),
    *(
        Kind(
            role="owner",
            group=each.group,
            versions=each.versions,
            plural=each.plural,
            take=partial(_take_owner, each),
            owner=each.kind,
            by_name=each.by_name,
        )
        for each in OWNER_KINDS
        if each.followed
    ),
)
