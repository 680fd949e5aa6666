"""Reads the membership of a pod in a gang from its labels, annotations and owners, by the rules of dossiers.

The owners are unchecked: no function here raises, whatever the owners contain.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..kube.pod import OwnerReference, by_name, controller, is_owner
from ..kube.unchecked import number
from ..wellknown import JOB_COMPLETION_INDEX
from .roles import Predicted, Role

# The gang's name becomes a label value (apimachinery pkg/util/validation LabelValueMaxLength).
_LONGEST_NAME: Final = 63

STATEFUL_SET_INDEX: Final = "apps.kubernetes.io/pod-index"
"""The label with the ordinal of a StatefulSet's pod (kubernetes/api apps/v1/types.go PodIndexLabel)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A pod's membership in a gang: the gang, the gang's size, and the pod's role and index in the gang.

    ``size`` is 0 and ``index`` is -1 if unknown. The index is the pod's number within its role, so two roles of a gang
    may both have an index 0.
    """

    source: str
    name: str
    size: int = 0
    index: int = -1
    role: str = ""
    """The operator's name for the pods of one template, such as worker or head; empty if the operator has no name."""
    staged: str = ""
    """The owner's field that makes some pods wait until others run; empty: none is known."""
    roles: tuple[Role, ...] = ()
    """The roles of the gang, one for each template, with the pods of each; empty if unknown, or if there is one
    template.
    """
    staged_within: str = ""
    """The owner's field that makes pods of a role wait for other pods of that role; empty: none is known."""
    awaits_owner: bool = False
    """Whether the size is unknown because the owner that states the size is unknown."""
    alike: bool = False
    """Whether one template makes all pods of the gang."""
    owner: Mapping[str, Any] | None = field(default=None, compare=False)
    """The object that states the size, if the pod's labels name that object; None if an owner of the pod states the
    size.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A pod with its controller and known owners, from which the pod's gang is read."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    controller: OwnerReference | None
    owners: Mapping[str, Mapping[str, Any]]
    size_of: Callable[[tuple[str, str, str]], int | None]
    """The function that returns the minimum number of pods of a PodGroup, from its API group, namespace and name; 0 or
    None if unknown.
    """

    def group_size(self, name: str, *api_groups: str) -> int:
        """Return the minimum number of pods of the PodGroup with this name in the pod's namespace; 0 if unknown.

        ``api_groups`` are the API groups of the PodGroup, in the order in which they are tried.
        """
        found = (self.size_of((each, self.namespace, name)) for each in api_groups)
        return next((size for size in found if size), 0)

    def lineage(self) -> Iterator[Mapping[str, Any]]:
        """Yield the known owners of the pod: the pod's controller, the controller of that controller, and so on.

        The longest known chain belongs to a worker in a RoleBasedGroup: StatefulSet, the leader's Pod, the leaders'
        StatefulSet, LeaderWorkerSet and RoleBasedGroup.
        """
        reference = self.controller
        for _ in range(5):
            document = None if reference is None else self._owned_by(reference)
            if document is None:
                return
            yield document
            reference = controller(document)

    def _owned_by(self, reference: OwnerReference) -> Mapping[str, Any] | None:
        """Return the object that an owner reference names.

        None if the object is unknown or does not match the reference. The author of a pod can write any uid, also the
        uid of somebody else's object. So kind, name and namespace have to match, too. A predicted owner stands for an
        object that a controller will make, so the name of a predicted owner is unknown and is not compared.
        """
        document = self.owners.get(reference.uid)
        same = isinstance(document, Predicted) or is_owner(document, reference, self.namespace)
        return document if same else None

    def labelled_owner(self, group: str, kind: str, name: str, uid: str) -> Mapping[str, Any] | None:
        """Return the object with this API group, kind, name and uid.

        None if the pod's namespace has no such known object.
        """
        return self._owned_by(OwnerReference(f"{group}/", kind, name, uid)) if uid else None

    def owner(self, kind: str) -> Mapping[str, Any] | None:
        """Return the nearest known owner of the given kind; None if there is no such owner."""
        return next((document for document in self.lineage() if document.get("kind") == kind), None)

    def named_owner(self, kind: str, name: str | None) -> Mapping[str, Any] | None:
        """Return the object of this kind and name in the pod's namespace; None if it is unknown.

        Only objects of a kind with ``OwnerKind.by_name`` are known by name.
        """
        return self.owners.get(by_name(kind, self.namespace, name)) if name else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A rule by which pods name their gang, in one label, annotation or field.

    ``read`` is called for a pod that has the label, annotation or field. ``read`` returns the pod's membership in the
    gang, or None if the value names no gang.
    """

    name: str
    """The name of the operator that makes the pods, as users of the operator know the name."""
    source: str
    read: Callable[[Subject], Member | None]
    size: str
    """The text that says where the size of the gang is stated."""
    label: str = ""
    annotation: str = ""
    field: str = ""
    role: str = ""
    """The label whose value is the role; empty if ``read`` returns the role."""
    role_from: str = ""
    """The text that says where ``read`` finds the role; empty if the pods have no roles."""
    sized_by: tuple[str, ...] = ()
    """The kinds of owners that state the size; empty if the pod or the pod's group states the size."""
    alike: bool = False
    """Whether the owner makes all pods from one template."""
    api_groups: tuple[str, ...] = ()
    """The API groups of the PodGroup that the label, annotation or field names; empty if no PodGroup is named."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The path, in a pod, of the label, annotation or field that the rule reads."""
        if self.field:
            return ("spec", self.field)
        return ("metadata", "labels", self.label) if self.label else ("metadata", "annotations", self.annotation)

    def concerns(self, pod: Subject) -> bool:
        """Return whether the pod has the label, annotation or field that the rule reads, with a nonempty value."""
        return bool(
            (self.label and pod.labels.get(self.label))
            or (self.annotation and pod.annotations.get(self.annotation))
            or (self.field and pod.spec.get(self.field))
        )

    def member(self, pod: Subject) -> Member | None:
        """Return the pod's membership by the rule; None if the pod's label, annotation or field names no gang."""
        found = self.read(pod)
        if found is None or found.role or not self.role:
            return found
        return replace(found, role=pod.labels.get(self.role) or "")


def index_of(text: str | None) -> int:
    """Return the number that the value of a label or annotation states; -1 if the value is no number."""
    found = number(text)
    return -1 if found is None else found


def named(kind: str, identity: str) -> str:
    """Return the name of a gang, ``<kind>-<identity>``.

    If the name is too long for a label value, it is cut, and a digest is added.
    """
    name = f"{kind}-{identity}"
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]
    return f"{name[: _LONGEST_NAME - 11]}-{digest}"


def completion_index(pod: Subject) -> int:
    """Return the completion index of a Job's pod; -1 if the pod has none.

    Older controllers write the annotation only.
    """
    return index_of(pod.annotations.get(JOB_COMPLETION_INDEX) or pod.labels.get(JOB_COMPLETION_INDEX))


def ordinal(pod: Subject) -> int:
    """Return the number that a Job or a StatefulSet has given the pod; -1 if the pod has no such number."""
    index = completion_index(pod)
    return index if index >= 0 else index_of(pod.labels.get(STATEFUL_SET_INDEX))
