"""What a review may wait for: objects that were made a moment ago, of which the watch has not told yet.

A controller makes pods within milliseconds of their Job, and whoever makes a Namespace fills it. Deciding without them
would be an error of a policy that reads the Namespace, or another preference for the first members of a gang than for
the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..kube.pod import OwnerReference, controller_in, is_owner
from .review import AdmissionRequest
from .snapshot import Snapshot

# No name, uid or kind is longer, and no apiVersion that is followed. A pod that nobody has checked may name megabytes,
# and who waits keeps the names.
_LONGEST_FIELD = 253


@dataclass(frozen=True, slots=True)
class Sought:
    """What a review is about that may have to become known. It holds nothing of the review's document."""

    namespace: str
    owner: OwnerReference | None
    """The new pod's controller."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """Tells what a review lacks that is followed, and so will be known."""

    follows_owner: Callable[[str, str, str], bool]
    """Tells whether the owner of an API group, a kind and a uid is; not one that was seen and is left out."""

    def __call__(self, review: AdmissionRequest, snapshot: Snapshot) -> Sought | None:
        """Return what the review lacks: its Namespace, if a policy reads it, or its pod's owner; None: nothing."""
        new_pod = review.resource == "pods" and review.operation == "CREATE"
        sought = Sought(review.namespace, _owner(review) if new_pod else None)
        return sought if self.is_lacking(sought, snapshot) else None

    def is_lacking(self, sought: Sought, snapshot: Snapshot) -> bool:
        """Tell whether it is still not known."""
        if sought.namespace and snapshot.lacks_namespace(sought.namespace):
            return True
        owner = sought.owner
        if owner is None or is_owner(snapshot.owners.get(owner.uid), owner, sought.namespace):
            return False
        return self.follows_owner(owner.group, owner.kind, owner.uid)


def _owner(review: AdmissionRequest) -> OwnerReference | None:
    """Return the pod's controller; nobody has checked the pod yet."""
    owner = controller_in(review.object)
    if owner is None or not owner.uid:
        return None
    longest = max(map(len, (owner.api_version, owner.kind, owner.name, owner.uid)))
    return owner if longest <= _LONGEST_FIELD else None
