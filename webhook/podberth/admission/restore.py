"""Restores podberth's writes on a pod in an update that lacks them; nothing else in an update is changed.

A user may apply the manifest of a running pod again. Then ``kubectl apply`` sends the pod without podberth's additions:
``tolerations`` and ``nodeSelectorTerms`` are atomic lists, ``nodeSelector`` is an atomic map. A resource name that
podberth replaced is sent again, too. The API server would refuse each of these changes. Only mutations whose concern
has a ``restore`` function are restored, and only to the values of the old pod. The API server judges updates that
change these fields in any other way.
"""

from ..errors import ReviewError
from ..kube.patch import Draft
from ..mutation import record
from ..mutation.pipeline import PIPELINE
from . import answering
from .checked import checked
from .outcome import Decision, Outcome
from .review import AdmissionRequest
from .snapshot import Snapshot


def restored(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    """Return the outcome of a pod's update: a patch that restores podberth's writes, if some are missing in the update.

    For a pod that is too large, the outcome is a warning that nothing is restored.

    Raises:
        ReviewError: the object or the old object of the review is missing, or not a pod.
    """
    if request.old_object is None:
        raise ReviewError(400, "request.oldObject: got null, want the Pod before the update")
    review = checked(request)
    if review.excess:
        return answering.unread(request, f"nothing is restored: {review.excess}")
    draft, before = Draft(review.object or {}), Draft(request.old_object)
    found = record.find(request.old_object, request.namespace, snapshot.sealer)
    held = record.held(before, found.lasting)
    # The pod's record may name policies that do not exist; such names must not get into metrics and logs.
    names = {policy.name for policy in snapshot.policies}
    decisions: list[Decision] = []
    for concern in PIPELINE:
        changes = {policy: concerns[concern.name] for policy, concerns in held.items() if concern.name in concerns}
        if changes and concern.restore is not None and concern.restore(draft, before, list(changes.values())):
            text = f"{concern.name} restored"
            decisions += [Decision(policy, "restore", text) for policy in changes if policy in names]
    return answering.of_patch(request, tuple(decisions), draft.patch())
