"""What a review may wait for: objects that were made a moment ago, of which the watch has not told yet.

A controller makes pods within milliseconds of their Job, and whoever makes a Namespace fills it. Deciding without them
would be an error of a policy that reads the Namespace, or another preference for the first members of a gang than for
the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..kube.pod import controller_in, is_owner
from .review import AdmissionRequest
from .snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Awaited:
    """Tells what a review lacks that is followed, and so will be known."""

    follows_owner: Callable[[str, str, str], bool]
    """Tells whether the owner of an API group, a kind and a uid is; not one that was seen and is left out."""

    def __call__(self, review: AdmissionRequest, snapshot: Snapshot) -> bool:
        """Tell whether the review's Namespace, if a policy reads it, or its pod's owner is not known yet."""
        if review.namespace and snapshot.lacks_namespace(review.namespace):
            return True
        return review.resource == "pods" and review.operation == "CREATE" and self._lacks_owner(review, snapshot)

    def _lacks_owner(self, review: AdmissionRequest, snapshot: Snapshot) -> bool:
        """Tell whether it is the pod's controller that is not known; nobody has checked the pod yet."""
        owner = controller_in(review.object)
        if owner is None or not owner.uid or is_owner(snapshot.owners.get(owner.uid), owner, review.namespace):
            return False
        return self.follows_owner(owner.group, owner.kind, owner.uid)
