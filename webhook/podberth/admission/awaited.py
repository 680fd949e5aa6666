"""What a review may wait for: objects that were made a moment ago, of which the watch has not told yet.

A controller makes pods within milliseconds of their Job, and whoever makes a Namespace fills it. Deciding without them
would be an error of a policy that reads the Namespace, or another preference for the first members of a gang than for
the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..workload.subject import at, list_at, text_at
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
        for owner in list_at(review.object, "metadata", "ownerReferences"):
            if at(owner, "controller") is True:
                group, kind = text_at(owner, "apiVersion").rpartition("/")[0], text_at(owner, "kind")
                uid = text_at(owner, "uid")
                return bool(uid) and uid not in snapshot.owners and self.follows_owner(group, kind, uid)
        return False
