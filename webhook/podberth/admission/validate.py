"""/validate: judge the final object. The only place where policies deny and warn.

Per policy and params object, as ValidatingAdmissionPolicy does: every validation is asked, failures go by
validationActions, and so do errors under failurePolicy Fail; under Ignore they pass. Where params or the namespace that
a policy needs are missing, failurePolicy Fail denies, whatever the actions.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import EvaluationError
from ..policy.evaluate import Evaluation, Failure, Watch
from . import messages, response
from .checked import checked
from .groups import wrong_in_pod
from .matching import Fault, Matcher
from .outcome import Action, Decision, Outcome
from .recall import Footprint, footprint
from .review import AdmissionRequest
from .snapshot import Snapshot
from .state import fingerprint

_SUB_RESOURCES = ("", "ephemeralcontainers")
_ACTIONS: Mapping[str, Action] = {"Deny": "deny", "Warn": "warn", "Audit": "audit"}


def validate(request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None) -> Outcome:
    """Decide on one review; a ``watch`` sees how, and then nothing is remembered.

    Raises:
        ReviewError: the review's object is no pod.
    """
    of_pods = (request.group, request.version, request.resource) == ("", "v1", "pods")
    judged = of_pods and request.sub_resource in _SUB_RESOURCES
    if not judged or request.operation not in ("CREATE", "UPDATE"):
        return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])
    this = checked(request)
    matcher = Matcher("validate", this, snapshot, watch=watch)
    problems = [*matcher.state.gpu.problems, *matcher.state.gang.problems]
    if request.operation == "CREATE" and not request.sub_resource and not this.excess:
        problems += wrong_in_pod(this.pod, matcher.state, request, snapshot)
    said = snapshot.recall.answer(_basis(matcher), lambda: _judged(matcher))
    decisions = [*(Decision("", "warn", problem) for problem in problems), *said.decisions]
    return _answer(request, decisions, said.reasons, said.audit)


@dataclass(frozen=True, slots=True)
class _Judged:
    """What all policies say of a pod."""

    decisions: tuple[Decision, ...]
    reasons: tuple[str, ...]
    """Of the denials."""
    audit: Mapping[str, str]


def _basis(matcher: Matcher) -> Hashable:
    """Return all that is judged by, of a pod that has just come; None where it is everything, or too large."""
    question = matcher.question
    if question is None:
        return None
    ground = matcher.snapshot.recall.answer(("judged by", question), lambda: _ground(matcher))
    values = fingerprint(matcher.state, ground)
    return None if values is None else ("judged", question, values)


def _ground(matcher: Matcher) -> Footprint | None:
    """Return what the policies that match read; None where it is not bounded."""
    policies = matcher.matching()
    if policies is None:
        return None
    asked = [validation.reads for policy in policies for validation in policy.validations]
    asked += [bound.reads for policy in policies for _, bound in policy.audit_annotations]
    return footprint(frozenset().union(*asked))


def _judged(matcher: Matcher) -> _Judged:
    """Ask every policy."""
    audit: dict[str, list[str]] = {}
    said = [each for item in matcher for each in _judge(matcher, item, audit)]
    return _Judged(
        decisions=tuple(decision for decision, _ in said),
        reasons=tuple(reason for decision, reason in said if decision.action == "deny"),
        # One policy may be asked with several params objects: upstream joins their values, each once.
        audit={key: ", ".join(values) for key, values in audit.items()},
    )


def _answer(
    request: AdmissionRequest, decisions: list[Decision], reasons: Sequence[str], audit: Mapping[str, str]
) -> Outcome:
    """Build the answer: the first denial sets the reason and so the code, all denials make the message."""
    lines = {
        action: [messages.line(item.policy, item.message) for item in decisions if item.action == action]
        for action in ("deny", "error", "warn")
    }
    warnings = messages.within_budget([*lines["error"], *lines["warn"]])
    if reasons:
        body = response.denied(
            request.uid, messages.joined(lines["deny"]), reason=reasons[0], warnings=warnings, audit=audit
        )
    else:
        body = response.allowed(request.uid, warnings, audit)
    return Outcome(
        response=body,
        verdict="denied" if reasons else "allowed",
        decisions=tuple(decisions),
        patch=[],
        warnings=warnings,
    )


def _judge(matcher: Matcher, item: Evaluation | Fault, audit: dict[str, list[str]]) -> Iterable[tuple[Decision, str]]:
    """Yield what one policy decides, with the reason of a denial; adds to ``audit``."""
    if isinstance(item, Fault):
        yield from _enforce(item.policy.name, Failure(item.message, "Invalid", error=True), item)
        if item.fatal and not item.of_set_up and "Audit" in item.policy.source.spec.validation_actions:
            audit.setdefault(f"{item.policy.name}.validation_failure", [item.message])
        return
    name = item.policy.name
    for failure in matcher.failures(item):
        yield from _enforce(name, failure, Fault(item.policy, failure.message))
        if "Audit" in item.policy.source.spec.validation_actions:
            audit.setdefault(f"{name}.validation_failure", [failure.message])
    try:
        for key, value in item.audit_annotations().items():
            values = audit.setdefault(f"{name}.{key}", [])
            values += [value] if value not in values else []
    except EvaluationError as error:
        # Upstream denies, whatever the actions: plugin/policy/validating/dispatcher.go, AuditAnnotationActionError.
        action: Action = "deny" if Fault(item.policy, "").fatal else "error"
        yield Decision(name, action, f"auditAnnotations: {error}", fault=True), "Invalid"


def _enforce(name: str, failure: Failure, fault: Fault) -> Iterable[tuple[Decision, str]]:
    """Turn a failure into what the policy's actions make of it; an error counts only under failurePolicy Fail."""
    if failure.error and not fault.fatal:
        yield Decision(name, "error", failure.message, fault=True), failure.reason
        return
    # A policy of audit annotations alone has no actions; its errors deny.
    actions = () if fault.of_set_up else fault.policy.source.spec.validation_actions
    for action in actions or ("Deny",):
        yield Decision(name, _ACTIONS[action], failure.message, fault=failure.error), failure.reason
