"""The objects that a review may wait for: a Namespace or an owner that the API server's watch has not reported yet.

A controller makes pods within milliseconds of their Job, and a user often creates pods right after their Namespace.
Without the Namespace, a policy that reads the Namespace would fail. Without the owner, the first members of a gang
could get other preferences than later members.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..kube.pod import OwnerReference, controller, is_owner
from .review import AdmissionRequest
from .snapshot import Snapshot

# No name, uid, kind or followed apiVersion is longer. The pod is not checked yet, so its owner's fields may have
# megabytes, and a waiting review keeps them.
_LONGEST_FIELD = 253


@dataclass(frozen=True, slots=True)
class Sought:
    """The Namespace and the owner that a review needs, by name, whether or not the snapshot has both."""

    namespace: str
    owner: OwnerReference | None
    """The ownerReference of the new pod's controller; None if the review needs no owner."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """Finds the objects that a review needs and the snapshot lacks, but that the API server will soon report."""

    follows_owner: Callable[[str, str, str], bool]
    """A function of an API group, a kind and a uid that returns whether a watch will report the owner.

    The function returns False for an owner that the watch leaves out.
    """

    def __call__(self, review: AdmissionRequest, snapshot: Snapshot) -> Sought | None:
        """Return the Namespace and the owner that the review needs, if it should wait for at least one; else None.

        The result has both, even if the snapshot lacks only one of them.
        """
        new_pod = review.resource == "pods" and review.operation == "CREATE"
        sought = Sought(review.namespace, _owner(review) if new_pod else None)
        return sought if self.is_lacking(sought, snapshot) else None

    def is_lacking(self, sought: Sought, snapshot: Snapshot) -> bool:
        """Return whether the review should wait, because the snapshot lacks an object that a watch will report.

        A Namespace counts only if a policy needs it.
        """
        if sought.namespace and snapshot.lacks_namespace(sought.namespace):
            return True
        owner = sought.owner
        if owner is None or is_owner(snapshot.owners.get(owner.uid), owner, sought.namespace):
            return False
        return self.follows_owner(owner.group, owner.kind, owner.uid)


def _owner(review: AdmissionRequest) -> OwnerReference | None:
    """Return the ownerReference of the pod's controller.

    None if the pod has no controller, or if the reference has a field that is too long for a real object.
    """
    owner = controller(review.object)
    if owner is None or not owner.uid:
        return None
    longest = max(map(len, (owner.api_version, owner.kind, owner.name, owner.uid)))
    return owner if longest <= _LONGEST_FIELD else None
