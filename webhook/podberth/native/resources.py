"""Finds the resource of a kind: its plural, its scope and its equivalents in other API groups and versions.

The kinds are Kubernetes' own and those of CustomResourceDefinitions. A native policy names resources (such as
deployments), and a document names its kind (such as Deployment). An end-to-end test compares the kinds of Kubernetes
in this module with the discovery of a real API server.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ..kube.unchecked import mapping_at, text_at
from ..workload.kinds import KINDS

# Kubernetes 1.36 as it is served by default: namespaced kinds, and kinds of the cluster.
_SERVED: Final[Mapping[str, tuple[str, str]]] = {
    "v1": (
        (
            "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController "
            "ResourceQuota Secret Service ServiceAccount"
        ),
        "Namespace Node PersistentVolume",
    ),
    "admissionregistration.k8s.io/v1": (
        "",
        (
            "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
            "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"
        ),
    ),
    "apiextensions.k8s.io/v1": ("", "CustomResourceDefinition"),
    "apiregistration.k8s.io/v1": ("", "APIService"),
    "apps/v1": ("ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""),
    "authorization.k8s.io/v1": (
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    ),
    "authentication.k8s.io/v1": ("", "SelfSubjectReview TokenReview"),
    "autoscaling/v1": ("HorizontalPodAutoscaler", ""),
    "autoscaling/v2": ("HorizontalPodAutoscaler", ""),
    "batch/v1": ("CronJob Job", ""),
    "certificates.k8s.io/v1": ("", "CertificateSigningRequest"),
    "coordination.k8s.io/v1": ("Lease", ""),
    "discovery.k8s.io/v1": ("EndpointSlice", ""),
    "events.k8s.io/v1": ("Event", ""),
    "flowcontrol.apiserver.k8s.io/v1": ("", "FlowSchema PriorityLevelConfiguration"),
    "networking.k8s.io/v1": ("Ingress NetworkPolicy", "IPAddress IngressClass ServiceCIDR"),
    "node.k8s.io/v1": ("", "RuntimeClass"),
    "policy/v1": ("PodDisruptionBudget", ""),
    "rbac.authorization.k8s.io/v1": ("Role RoleBinding", "ClusterRole ClusterRoleBinding"),
    "resource.k8s.io/v1": ("ResourceClaim ResourceClaimTemplate", "DeviceClass ResourceSlice"),
    "scheduling.k8s.io/v1": ("", "PriorityClass"),
    "storage.k8s.io/v1": (
        "CSIStorageCapacity",
        "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    ),
}
_OWN_GROUPS: Final = frozenset({*(version.rpartition("/")[0] for version in _SERVED), "extensions"})
_EQUIVALENT: Final = (
    (("", "events"), ("events.k8s.io", "events")),
    (("autoscaling", "horizontalpodautoscalers"),),
)
"""The resources that the API server serves under several groups or versions with the same objects."""


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind of objects in one API version that an API server serves, with the name of the resource."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    built_in: bool = False
    """Whether the kind belongs to Kubernetes itself."""
    renamed: bool = False
    """Whether the versions of the kind differ only in apiVersion, as with a CRD without a conversion webhook."""

    @property
    def api_version(self) -> str:
        """The apiVersion of objects of the kind, such as ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version


def plural_of(kind: str) -> str:
    """Return the regular plural of a kind in lower case, such as "pods" for "Pod"."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _kind(api_version: str, kind: str, *, namespaced: bool, built_in: bool) -> ResourceKind:
    group, _, version = api_version.rpartition("/")
    return ResourceKind(group, version, kind, plural_of(kind), namespaced, built_in)


def is_of_kubernetes(api_version: str) -> bool:
    """Return whether an apiVersion is in one of Kubernetes' own API groups; the version may be outdated."""
    return api_version.rpartition("/")[0] in _OWN_GROUPS


BUILT_IN: Final = tuple(
    _kind(api_version, kind, namespaced=namespaced, built_in=True)
    for api_version, kinds in _SERVED.items()
    for namespaced, named in zip((True, False), kinds, strict=True)
    for kind in named.split()
)
# Operators whose CustomResourceDefinitions are seldom beside the manifests; their plurals are regular.
_OF_OPERATORS: Final = tuple(
    _kind(version, row.kind, namespaced=not row.of_cluster, built_in=False)
    for row in KINDS
    for version in row.api_versions
    if not is_of_kubernetes(version)
)


class Resources:
    """The known resources: resources of Kubernetes, of podberth's dossiers, and of given CustomResourceDefinitions."""

    def __init__(self, definitions: Iterable[Mapping[str, Any]] = ()) -> None:
        """Read the CustomResourceDefinitions in ``definitions``, which take precedence over podberth's dossiers."""
        every = [*_OF_OPERATORS, *(each for one in definitions for each in _defined(one)), *BUILT_IN]
        self._by_kind = {(each.api_version, each.kind): each for each in every}

    @property
    def every(self) -> Iterable[ResourceKind]:
        """All known resources."""
        return self._by_kind.values()

    def of(self, api_version: str, kind: str) -> ResourceKind | None:
        """Return the resource of a kind; None if the resource is unknown."""
        return self._by_kind.get((api_version, kind))

    def equivalents(self, resource: ResourceKind) -> list[ResourceKind]:
        """Return the other API groups and versions under which the API server serves the objects of a resource."""
        names = {(resource.group, resource.plural)}
        names |= {name for row in _EQUIVALENT if (resource.group, resource.plural) in row for name in row}
        return [each for name in sorted(names) for each in self._by_name.get(name, ()) if each != resource]

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], list[ResourceKind]]:
        found: dict[tuple[str, str], list[ResourceKind]] = {}
        for each in self._by_kind.values():
            found.setdefault((each.group, each.plural), []).append(each)
        return found


def _defined(document: Mapping[str, Any]) -> Iterator[ResourceKind]:
    """Yield the kinds that a CustomResourceDefinition defines, one for each served version."""
    if document.get("kind") != "CustomResourceDefinition":
        return
    group, scope = text_at(document, "spec", "group"), text_at(document, "spec", "scope")
    renamed = text_at(document, "spec", "conversion", "strategy") in ("", "None")
    kind, plural = text_at(document, "spec", "names", "kind"), text_at(document, "spec", "names", "plural")
    versions = mapping_at(document, "spec").get("versions")
    for version in versions if isinstance(versions, list) else ():
        if isinstance(version, dict) and version.get("served") is True and kind and plural:
            yield ResourceKind(group, text_at(version, "name"), kind, plural, scope == "Namespaced", renamed=renamed)
