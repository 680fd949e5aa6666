"""Decides on pods for /mutate and /validate, by running the steps of a decision in order. No function here does I/O.

``checked`` checks the pod, and ``description`` collects the pod's accelerators and the pod's gang. Then ``matching``
finds the policies that apply, ``asking`` evaluates them, ``writing`` applies their mutations (or ``judging`` their
validations), and ``answering`` makes the outcome. /mutate denies for one reason only: a policy with mutations and
failurePolicy Fail could not be evaluated.
"""

from ..policy.evaluate import Watch
from . import answering
from .asking import Asking
from .checked import checked
from .floor import after_floor, before_floor
from .groups import wrong_in_pod
from .judging import judge
from .matching import Fault, Matching
from .outcome import NOT_JUDGED, Action, Decision, Judged, Outcome, Written
from .replay import KeptDecision, keep, key_of
from .restore import restored
from .review import AdmissionRequest
from .snapshot import Phase, Snapshot
from .under_review import PodUnderReview
from .writing import Writing

_SUB_RESOURCES = ("", "ephemeralcontainers")


def mutate(request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None) -> Outcome:
    """Return the outcome of /mutate: the patch with the policies' writes on the pod, or a denial.

    In an update, the patch restores the fields that policies wrote on the pod at creation and that the update lacks.
    ``watch`` is an observer that sees each step of the decision, so an observed decision is not taken from a cache.

    Raises:
        ReviewError: an object of the review is not a pod.
    """
    if not _is_of_pods(request) or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return answering.unchanged(request)
    if request.operation == "UPDATE":
        return restored(request, snapshot)
    bare = before_floor(request)
    return after_floor(request, bare, _created(bare, snapshot, watch))


def _created(request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None) -> Outcome:
    """Return the outcome of /mutate for the creation of a pod, from the cache if ``watch`` is None."""
    matching = _matching("mutate", request, snapshot, watch)
    key = key_of(matching) if watch is None and not matching.under.repeats_a_name else None
    kept: KeptDecision | None = None if key is None else snapshot.recall.find(key.values)
    if kept is not None and kept.holds(matching.under):
        return kept.for_pod(matching.under)
    writing = Writing(matching.asking)
    outcome = _written(matching, writing)
    if key is not None:
        keep(key, outcome, matching, writing)
    return outcome


def validate(request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None) -> Outcome:
    """Return the outcome of /validate: the policies' validations, evaluated on the pod that would be stored.

    The outcome also has warnings about fields of the pod that podberth cannot read. When a Pod without a controller is
    created, the outcome has warnings about the groups and the queue that the Pod names. ``watch`` is an observer that
    sees each step of the decision, so an observed decision is not taken from a cache.

    Raises:
        ReviewError: an object of the review is not a pod.
    """
    judged_here = _is_of_pods(request) and request.sub_resource in _SUB_RESOURCES
    if not judged_here or request.operation not in ("CREATE", "UPDATE"):
        return answering.unchanged(request)
    matching = _matching("validate", request, snapshot, watch)
    under = matching.under
    problems = [*under.description.gpu.problems, *under.description.gang.problems]
    if request.operation == "CREATE" and not request.sub_resource and not under.request.excess:
        problems += wrong_in_pod(under.pod, under.description, request.namespace, snapshot)
    judged = judge(matching)
    decisions = [*(Decision("", "warn", problem) for problem in problems), *judged.decisions]
    own = _of_namespace(under, watch)
    return answering.of_validations(request, decisions, judged, own)


def _of_namespace(under: PodUnderReview, watch: Watch | None) -> Judged:
    """Return the result of the policies of the pod's own namespace.

    The policies of the namespace are evaluated separately, and cannot change a decision of the cluster's policies.
    """
    snapshot = under.snapshot.of_namespace(under.request.namespace)
    if snapshot is None:
        return NOT_JUDGED
    return judge(Matching(Asking(snapshot.plan("validate", under.request), under.within(snapshot), watch)))


def mutate_with_writes(
    request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None
) -> tuple[Outcome, tuple[Written, ...]]:
    """Return the outcome of /mutate for the creation of a pod, and the changes that each mutation made.

    Before the decision, the writes of the floor (``admission.floor``) on the pod are undone, so the changes are those
    of the pod without the floor. ``watch`` is an observer that sees each step of the decision.

    Raises:
        ReviewError: an object of the review is not a pod.
    """
    bare = before_floor(request)
    matching = _matching("mutate", bare, snapshot, watch)
    writing = Writing(matching.asking, keep_writes=True)
    return after_floor(request, bare, _written(matching, writing)), tuple(writing.written)


def _is_of_pods(request: AdmissionRequest) -> bool:
    return (request.group, request.version, request.resource) == ("", "v1", "pods")


def _matching(phase: Phase, request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None) -> Matching:
    """Check and describe the pod of a review; return an iterable of the policies that apply to the pod.

    ``phase`` chooses the policies: "mutate" those with mutations, "validate" those with validations or audit
    annotations.

    Raises:
        ReviewError: an object of the review is not a pod.
    """
    under = PodUnderReview(checked(request), snapshot)
    return Matching(Asking(snapshot.plan(phase, request), under, watch))


def _written(matching: Matching, writing: Writing) -> Outcome:
    """Let each matching policy write on the pod, in the policies' order, and return the outcome of /mutate.

    Each policy is matched with the pod as the earlier policies left it. If two containers of the pod have equal names,
    nothing is written, because the record identifies containers by name. The API server refuses such a pod in any case.
    """
    request = matching.under.request
    if matching.under.repeats_a_name:
        return answering.unchanged(request)
    for item in matching:
        if isinstance(item, Decision):
            writing.decisions.append(item)
            continue
        fault = item if isinstance(item, Fault) else writing.write(item)
        if fault is not None:
            action: Action = "deny" if fault.fatal else "error"
            writing.decisions.append(Decision(fault.policy.name, action, fault.message, fault=True))
            if fault.fatal:
                return answering.of_fault(request, writing.decisions, fault.policy.name, fault.message)
    return answering.of_mutations(request, writing.decisions, writing.finish())
