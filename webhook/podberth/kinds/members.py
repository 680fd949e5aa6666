"""A pod as its gang is read from it: by the keys that it carries, and by its owners. Dossiers say which keys.

Owners come from a snapshot as they are: no reader here raises, whatever they hold.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..kube.pod import OwnerReference, by_name, controller_in, is_owner
from ..kube.unchecked import number
from ..wellknown import JOB_COMPLETION_INDEX
from .roles import Predicted, Role

# Label values (apimachinery pkg/util/validation LabelValueMaxLength): the name becomes one.
_LONGEST_NAME: Final = 63

STATEFUL_SET_INDEX: Final = "apps.kubernetes.io/pod-index"
"""The label with a StatefulSet's pod's ordinal (kubernetes/api apps/v1/types.go PodIndexLabel)."""


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
    """The operator's word for the pods that are made alike: worker, head; empty if it has none."""
    staged: str = ""
    """The field by which some members are made only when others run; empty: none is known that says so."""
    roles: tuple[Role, ...] = ()
    """The parts of the size, by template; empty if nothing says them, or all pods are made alike."""
    staged_within: str = ""
    """The same of members of one role."""
    awaits_owner: bool = False
    """Whether the size is unknown for want of the owner that says it."""
    alike: bool = False
    """Whether all members are made of one template."""
    owner: Mapping[str, Any] | None = field(default=None, compare=False)
    """The object that says the size, where labels of the pod name it; else it is among the pod's owners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A pod as memberships see it, with its controller and the owners that a snapshot has."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    controller: OwnerReference | None
    owners: Mapping[str, Mapping[str, Any]]
    group_sizes: Mapping[tuple[str, str, str], int]
    """The least pods that PodGroups let start together, by API group, namespace and name."""

    def group_size(self, name: str, *api_groups: str) -> int:
        """Return the size of the pod's PodGroup of that name; 0 where no such group is known, or it does not say."""
        found = (self.group_sizes.get((each, self.namespace, name), 0) for each in api_groups)
        return next((size for size in found if size), 0)

    def lineage(self) -> Iterator[Mapping[str, Any]]:
        """Yield the controller's document, its controller's, and so on, as far as known.

        The longest that is known is that of a worker in a RoleBasedGroup: StatefulSet, the leader's Pod, the leaders'
        StatefulSet, LeaderWorkerSet and RoleBasedGroup.
        """
        reference = self.controller
        for _ in range(5):
            document = None if reference is None else self._owned_by(reference)
            if document is None:
                return
            yield document
            reference = controller_in(document)

    def _owned_by(self, reference: OwnerReference) -> Mapping[str, Any] | None:
        """Return the object that a reference is to.

        Whoever makes a pod writes the uid, which may be that of anybody's object. So kind and name have to fit, too,
        and the namespace is the pod's, for no object has its owner in another. A predicted owner stands for objects
        that its controller will make, under names that nobody knows yet.
        """
        document = self.owners.get(reference.uid)
        same = isinstance(document, Predicted) or is_owner(document, reference, self.namespace)
        return document if same else None

    def labelled_owner(self, group: str, kind: str, name: str, uid: str) -> Mapping[str, Any] | None:
        """Return the object that labels name by all of these; None where there is no such one in the namespace."""
        return self._owned_by(OwnerReference(f"{group}/", kind, name, uid)) if uid else None

    def owner(self, kind: str) -> Mapping[str, Any] | None:
        """Return the nearest known owner of that kind."""
        return next((document for document in self.lineage() if document.get("kind") == kind), None)

    def named_owner(self, kind: str, name: str | None) -> Mapping[str, Any] | None:
        """Return the object of that kind and name, of those kinds that are known by name, too."""
        return self.owners.get(by_name(kind, self.namespace, name)) if name else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One way of belonging to a gang: ``read`` is asked where label, annotation or field of the spec is there."""

    name: str
    """The maker of such pods, in the words of its users."""
    source: str
    read: Callable[[Subject], Member | None]
    size: str
    """In words, where the size is from."""
    label: str = ""
    annotation: str = ""
    field: str = ""
    role: str = ""
    """The label that says the role, where it is no more than that; else ``read`` says it."""
    role_from: str = ""
    """In words, where the role is from, if ``read`` says it; empty: its pods have none."""
    sized_by: tuple[str, ...] = ()
    """The kinds of owners that say the size; empty where the pod says it, or its group."""
    alike: bool = False
    """Whether its owner makes all pods of one template."""
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
        """Return the pod's place by this membership; None where its key says nothing."""
        found = self.read(pod)
        if found is None or found.role or not self.role:
            return found
        return replace(found, role=pod.labels.get(self.role) or "")


def index_of(text: str | None) -> int:
    """Return the index that a label or annotation says, -1 where it says none."""
    found = number(text)
    return -1 if found is None else found


def named(kind: str, identity: str) -> str:
    """Return a gang's name that is a legal label value: one that is too long is cut, and gets a digest."""
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
