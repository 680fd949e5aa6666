"""ResourceClaimTemplates that pods name and policies declare: which are to be made, and for whom.

Pure: whoever watches pods and templates asks again whenever something has changed, and does what is said. Kubernetes'
own controllers do the rest: one makes the claims, the garbage collector takes a template away with its last owner.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..kube.pod import spec

Document: TypeAlias = Mapping[str, Any]

MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "podberth"}
"""The label of templates that podberth made; one without it is somebody else's, and left alone."""

# Pods without an owner own a template each by themselves. Where all of so many are gone, it is made again for the next.
MOST_OWNERS: Final = 100
# As workload.subject.Subject.lineage: no operator puts more between a pod and what the user made.
_LONGEST_LINEAGE: Final = 3


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """An object with which a template goes."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def reference(self) -> dict[str, Any]:
        """The ownerReference; its deletion waits for nothing."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": False,
            "blockOwnerDeletion": False,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Make:
    """A template that is missing."""

    namespace: str
    name: str
    spec: Document
    owners: tuple[Owner, ...]

    @property
    def document(self) -> dict[str, Any]:
        """The object."""
        metadata: dict[str, Any] = {"name": self.name, "namespace": self.namespace, "labels": dict(MANAGED_BY)}
        metadata["ownerReferences"] = [each.reference for each in self.owners]
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": metadata,
            "spec": dict(self.spec),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A template of podberth's that is there, and gets owners beside those that it has."""

    namespace: str
    name: str
    uid: str
    owners: tuple[Owner, ...]

    @property
    def patch(self) -> dict[str, Any]:
        """The strategic merge patch: owners are merged by uid, and one that was made anew meanwhile is a conflict."""
        return {"metadata": {"uid": self.uid, "ownerReferences": [each.reference for each in self.owners]}}


def plan(
    pods: Iterable[Document],
    declared: Mapping[str, Document],
    existing: Iterable[Document],
    owners: Mapping[str, Document],
) -> list[Make | Own]:
    """Say what is to be done, in order of namespace and name; nothing where all is as it should be.

    Args:
        pods: those that are not scheduled; others are passed over.
        declared: the specs of templates, by the names that policies write.
        existing: the ResourceClaimTemplates of the pods' namespaces.
        owners: controllers of pods and of controllers by uid, as far as known (``workload.owners``).
    """
    wanted: dict[tuple[str, str], set[Owner]] = {}
    for pod in pods:
        for name in _waits_for(pod, declared):
            wanted.setdefault((_namespace(pod), name), set()).add(top_owner(pod, owners))
    there = {(_namespace(each), each["metadata"]["name"]): each for each in existing}
    steps = (_step(place, found, declared, there.get(place)) for place, found in sorted(wanted.items()))
    return [step for step in steps if step is not None]


def _step(
    place: tuple[str, str], owners: set[Owner], declared: Mapping[str, Document], template: Document | None
) -> Make | Own | None:
    namespace, name = place
    if template is None:
        first = tuple(sorted(owners)[:MOST_OWNERS])
        return Make(namespace=namespace, name=name, spec=declared[name], owners=first)
    metadata = template["metadata"]
    labels = metadata.get("labels") or {}
    # One that is being deleted cannot be kept: it is made again when it is gone.
    if not MANAGED_BY.items() <= labels.items() or metadata.get("deletionTimestamp"):
        return None
    present = {each.get("uid") for each in metadata.get("ownerReferences") or ()}
    more = sorted(each for each in owners if each.uid not in present)[: max(0, MOST_OWNERS - len(present))]
    return Own(namespace=namespace, name=name, uid=metadata["uid"], owners=tuple(more)) if more else None


def _waits_for(pod: Document, declared: Mapping[str, Document]) -> Iterator[str]:
    """Yield the declared templates that a pod names, once each, while it may still need its claims made."""
    pod_spec, status = spec(pod), pod.get("status") or {}
    over = status.get("phase") in ("Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp")
    if not over and not pod_spec.get("nodeName"):
        names = (each.get("resourceClaimTemplateName") for each in pod_spec.get("resourceClaims") or ())
        yield from dict.fromkeys(name for name in names if name in declared)


def top_owner(pod: Document, owners: Mapping[str, Document]) -> Owner:
    """Return what the user made: the controller's controller and so on, as far as known; a pod without is its own."""
    metadata = pod["metadata"]
    found = Owner("v1", "Pod", metadata["name"], metadata["uid"])
    document: Document = pod
    for _ in range(_LONGEST_LINEAGE):
        references = (document.get("metadata") or {}).get("ownerReferences") or ()
        controller = next((each for each in references if each.get("controller")), None)
        if controller is None or not all(controller.get(key) for key in ("apiVersion", "kind", "name", "uid")):
            break
        found = Owner(controller["apiVersion"], controller["kind"], controller["name"], controller["uid"])
        document = owners.get(found.uid) or {}
    return found


def _namespace(document: Document) -> str:
    namespace: str = document["metadata"]["namespace"]
    return namespace
