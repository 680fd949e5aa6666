"""The membership of a pod in a gang, read from the pod's labels, annotations and owners by the rules of dossiers.

Owners come from a snapshot unchecked: no reader here raises, whatever they hold.
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
    """A pod's place in a gang.

    ``size`` is 0 and ``index`` -1 where unknown. The index is the pod's number within its role: two roles of a gang
    may both have a 0.
    """

    source: str
    name: str
    size: int = 0
    index: int = -1
    role: str = ""
    """The operator's name for the pods of one template: worker, head; empty if it has none."""
    staged: str = ""
    """The field that makes some members wait until others run; empty: no such field is known."""
    roles: tuple[Role, ...] = ()
    """The roles, with their numbers of pods, by template; empty if unknown, or if all pods have one template."""
    staged_within: str = ""
    """The field that makes some members of one role wait until others of it run; empty: no such field is known."""
    awaits_owner: bool = False
    """Whether the size is unknown because the owner that states it is not known yet."""
    alike: bool = False
    """Whether all members are made of one template."""
    owner: Mapping[str, Any] | None = field(default=None, compare=False)
    """The object that states the size, if labels of the pod name it; None if it is one of the pod's owners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A pod with its controller and known owners: the input of memberships."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    controller: OwnerReference | None
    owners: Mapping[str, Mapping[str, Any]]
    group_sizes: Mapping[tuple[str, str, str], int]
    """The minimum number of pods of each PodGroup, by API group, namespace and name."""

    def group_size(self, name: str, *api_groups: str) -> int:
        """Return the minimum of the PodGroup with this name in the pod's namespace; 0 if it is unknown."""
        found = (self.group_sizes.get((each, self.namespace, name), 0) for each in api_groups)
        return next((size for size in found if size), 0)

    def lineage(self) -> Iterator[Mapping[str, Any]]:
        """Yield the document of the pod's controller, then of the controller's controller, and so on, as far as known.

        The longest known chain is that of a worker in a RoleBasedGroup: StatefulSet, the leader's Pod, the leaders'
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
        """Return the object that an owner reference names; None if it is unknown or does not match.

        The author of a pod can write any uid, also that of a foreign object. So kind, name and namespace have to match,
        too. A predicted owner stands for an object that its controller will make: its name is not known yet, and is
        not compared.
        """
        document = self.owners.get(reference.uid)
        same = isinstance(document, Predicted) or is_owner(document, reference, self.namespace)
        return document if same else None

    def labelled_owner(self, group: str, kind: str, name: str, uid: str) -> Mapping[str, Any] | None:
        """Return the object with this API group, kind, name and uid; None if the pod's namespace has no such object."""
        return self._owned_by(OwnerReference(f"{group}/", kind, name, uid)) if uid else None

    def owner(self, kind: str) -> Mapping[str, Any] | None:
        """Return the nearest known owner of this kind; None if there is none."""
        return next((document for document in self.lineage() if document.get("kind") == kind), None)

    def named_owner(self, kind: str, name: str | None) -> Mapping[str, Any] | None:
        """Return the object of this kind and name; None if it is unknown, or if the kind is not found by name."""
        return self.owners.get(by_name(kind, self.namespace, name)) if name else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One way of belonging to a gang: ``read`` is called if the pod has the label, the annotation or the field."""

    name: str
    """The operator that makes such pods, by the name that its users use."""
    source: str
    read: Callable[[Subject], Member | None]
    size: str
    """In words, the source of the size."""
    label: str = ""
    annotation: str = ""
    field: str = ""
    role: str = ""
    """The label with the role, if the role is the label's value; otherwise ``read`` returns it."""
    role_from: str = ""
    """In words, the source of the role, if ``read`` returns it; empty if its pods have no roles."""
    sized_by: tuple[str, ...] = ()
    """The kinds of owners that state the size; empty if the pod or its group states it."""
    alike: bool = False
    """Whether the owner makes all pods from one template."""
    api_groups: tuple[str, ...] = ()
    """The API groups of the PodGroup that the key names; empty if it names none."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The path of the key in a pod."""
        if self.field:
            return ("spec", self.field)
        return ("metadata", "labels", self.label) if self.label else ("metadata", "annotations", self.annotation)

    def concerns(self, pod: Subject) -> bool:
        """Tell whether the pod has the membership's key."""
        return bool(
            (self.label and pod.labels.get(self.label))
            or (self.annotation and pod.annotations.get(self.annotation))
            or (self.field and pod.spec.get(self.field))
        )

    def member(self, pod: Subject) -> Member | None:
        """Return the pod's place in a gang by this membership; None if its key names no gang."""
        found = self.read(pod)
        if found is None or found.role or not self.role:
            return found
        return replace(found, role=pod.labels.get(self.role) or "")


def index_of(text: str | None) -> int:
    """Return the index in the value of a label or annotation; -1 if it has none."""
    found = number(text)
    return -1 if found is None else found


def named(kind: str, identity: str) -> str:
    """Return the name of a gang as a valid label value: a name that is too long is cut and gets a digest."""
    name = f"{kind}-{identity}"
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:10]
    return f"{name[: _LONGEST_NAME - 11]}-{digest}"


def completion_index(pod: Subject) -> int:
    """Return a Job pod's index, -1 for none; older controllers write the annotation only."""
    return index_of(pod.annotations.get(JOB_COMPLETION_INDEX) or pod.labels.get(JOB_COMPLETION_INDEX))


def ordinal(pod: Subject) -> int:
    """Return the number that a Job or a StatefulSet gave the pod, -1 for none."""
    index = completion_index(pod)
    return index if index >= 0 else index_of(pod.labels.get(STATEFUL_SET_INDEX))
