"""/mutate: let the policies write on a pod that is being created, and give back on update what they wrote.

It denies for one reason only: a policy with mutations that could not be asked, under failurePolicy Fail. Judging pods
is ``validate``'s.
"""

from collections.abc import Iterable
from typing import Any, cast

from ..errors import EvaluationError, ReviewError
from ..kube.patch import Draft
from ..kube.shape import shape_problems
from ..mutation import pipeline, record
from ..mutation.change import Change, Concern, Proposal, Skipped
from ..policy.evaluate import Evaluation
from . import messages, response
from .gate import refusal
from .matching import Fault, Matcher
from .outcome import Decision, Outcome
from .replay import Basis, Course, basis_of, course_of
from .restore import restore
from .review import AdmissionRequest
from .snapshot import Snapshot

# What a policy wrote of these on an earlier pass stands: by now other policies have narrowed the choice of nodes, so
# the same question has another answer, and a reinvocation must change nothing.
_ONCE = frozenset({"nodeAffinity", "topology"})


def mutate(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    """Decide on one review.

    Raises:
        ReviewError: the review's object is no pod.
    """
    if (request.group, request.version, request.resource, request.sub_resource) != ("", "v1", "pods", ""):
        return _untouched(request)
    if request.operation == "UPDATE":
        return _restore(request, snapshot)
    if request.operation != "CREATE":
        return _untouched(request)
    pod = checked_pod(request)
    matcher = Matcher("mutate", request, snapshot, pod)
    basis = basis_of(matcher)
    if basis is not None:
        course = snapshot.recall.answer(basis.key, lambda: _course(request, snapshot, pod, basis))
        if course is not None:
            return course.again(request, pod, matcher.state.gang.name)
    return _Run(matcher, pod).outcome()


def afresh(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    """Decide on the creation of a pod as ``mutate`` does, without what was decided before.

    Raises:
        ReviewError: the review's object is no pod.
    """
    pod = checked_pod(request)
    return _Run(Matcher("mutate", request, snapshot, pod), pod).outcome()


def checked_pod(request: AdmissionRequest) -> dict[str, object]:
    """Return the review's pod, of a shape that everything behind relies on.

    Raises:
        ReviewError: it is none; names the first places that are wrong.
    """
    problems = ["request.object: got null, want a Pod"] if request.object is None else shape_problems(request.object)
    if problems or request.object is None:
        raise ReviewError(400, "; ".join(problems[:5]))
    return request.object


def _course(request: AdmissionRequest, snapshot: Snapshot, pod: dict[str, Any], basis: Basis) -> Course | None:
    """Decide on a pod so that the decision can be kept for others; None where it cannot."""
    run = _Run(Matcher("mutate", request, snapshot, pod, stand_in=basis.stand_in), pod)
    return course_of(run.outcome(), run.matcher, run.draft, basis)


def _untouched(request: AdmissionRequest) -> Outcome:
    return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])


def _restore(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    if request.old_object is None or shape_problems(request.old_object):
        raise ReviewError(400, "request.oldObject: got no Pod, want the Pod before the update")
    draft = Draft(checked_pod(request))
    # The record is the pod's: a name that no policy has is not repeated into metrics and logs.
    names = {policy.name for policy in snapshot.policies}
    restored = restore(draft, request.old_object)
    decisions = tuple(Decision(policy, "restore", text) for policy, text in restored if policy in names)
    patch = draft.patch()
    return Outcome(
        response=response.patched(request.uid, patch),
        verdict="mutated" if patch else "allowed",
        decisions=decisions,
        patch=patch,
    )


class _Run:
    """One creation: the policies in order over one draft."""

    def __init__(self, matcher: Matcher, pod: dict[str, Any]) -> None:
        self.request = matcher.request
        self.snapshot = matcher.snapshot
        self.draft = Draft(pod)
        self.matcher = matcher
        self.before = record.held(self.draft, record.read(pod))
        self.record = self.before
        self.decisions: list[Decision] = []

    def outcome(self) -> Outcome:
        """Ask every policy and build the answer."""
        for item in self.matcher:
            fault = item if isinstance(item, Fault) else self._let_write(item)
            if fault is not None:
                self.decisions.append(Decision(fault.policy.name, "deny" if fault.fatal else "error", fault.message))
                if fault.fatal:
                    return self._denied(fault)
        record.write(self.draft, self.record)
        patch = self.draft.patch()
        warnings = messages.of_mutations(self.decisions, patch)
        return Outcome(
            response=response.patched(self.request.uid, patch, warnings),
            verdict="mutated" if patch else "allowed",
            decisions=tuple(self.decisions),
            patch=patch,
            warnings=warnings,
        )

    def _denied(self, fault: Fault) -> Outcome:
        text = messages.line(fault.policy.name, f"cannot be applied: {fault.message} (failurePolicy Fail)")
        return Outcome(
            response=response.denied(self.request.uid, text),
            verdict="denied",
            decisions=tuple(self.decisions),
            patch=[],
        )

    def _let_write(self, evaluation: Evaluation) -> Fault | None:
        """Apply all mutations of one policy, or none."""
        policy = evaluation.policy
        draft = self.draft.fork()
        try:
            done = list(self._changes(evaluation, draft))
        except EvaluationError as error:
            return Fault(policy, str(error))
        changes = [change for change, _ in done if isinstance(change, Change)]
        self.decisions += [
            Decision(policy.name, "mutate" if isinstance(change, Change) else "skip", text)
            for change, text in done
            if text
        ]
        if changes:
            self.draft = draft
            self.record = record.add(self.record, policy.name, changes)
            self.matcher.wrote(draft.document, tuple(draft.touched))
        return None

    def _changes(self, evaluation: Evaluation, draft: Draft) -> Iterable[tuple[Change | Skipped, str]]:
        system = self.matcher.state.gang.system
        for asked in self.matcher.mutations(evaluation):
            concern = cast("Concern", asked.mutation.concern)
            refused = refusal(evaluation.policy, asked.mutation, system)
            if refused is not None:
                yield Skipped(concern, refused), refused
                continue
            if concern in _ONCE and concern in self.before.get(evaluation.policy.name, {}):
                continue
            proposal = Proposal(concern=concern, leaves=asked.leaves, reason=asked.reason)
            change = pipeline.apply(draft, proposal, pipeline.Membership(self.matcher.pod_groups))
            if isinstance(change, Change):
                yield change, (asked.reason or change.describe()) + self._effect(change)
            elif change is not None:
                yield change, f"{concern} left as it is: {change.reason}"

    def _effect(self, change: Change) -> str:
        """Say what new node affinity does to the choice of nodes.

        ": 12 nodes fit (was 40)", ": prefers 12 of 40 nodes".
        """
        if change.concern != "nodeAffinity" or not self.snapshot.topology.known:
            return ""
        nodes = self.snapshot.topology.nodes(self.matcher.state.need)
        preferred = [item["preference"] for item in change.wrote.get("preferred", ())]
        if preferred:
            return f": prefers {nodes.count_selected(preferred)} of {nodes.count} nodes"
        return f": {nodes.count_selected(change.wrote['required'])} nodes fit (was {nodes.count})"
