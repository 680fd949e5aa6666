"""Judges a pod by the policies' validations: failed validations become denials and warnings.

Only this module lets a policy deny or warn. As in ValidatingAdmissionPolicy, every validation is evaluated for each
policy and params object, and validationActions decide the effect of a failure. An error counts as a failure under
failurePolicy Fail, and admits the pod under Ignore. If the params or the namespace that a policy needs are missing,
failurePolicy Fail denies the pod, whatever the validationActions are.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from ..errors import EvaluationError
from ..policy.evaluate import Failure
from .asking import Asking
from .fingerprint import fingerprint
from .matching import Fault, Matched, Matching
from .outcome import Action, Decision, Judged
from .recall import Footprint, footprint

OF_AUDIT: Final = "auditAnnotations: "
"""The prefix of the message about an audit annotation whose expression failed."""
_ACTIONS: Mapping[str, Action] = {"Deny": "deny", "Warn": "warn", "Audit": "audit"}


def judge(matching: Matching) -> Judged:
    """Return the result of all matching policies' validations.

    The result is cached for later pods for which equal policies match and read equal values.
    """
    return matching.under.snapshot.recall.answer(_key(matching), lambda: _judged(matching), Judged.texts)


def _key(matching: Matching) -> Hashable:
    """Return the cache key for the result of the policies' validations; None if the result must not be cached."""
    question, under = matching.question, matching.under
    if question is None:
        return None
    read = under.snapshot.recall.answer(("judged by", question), lambda: _footprint(matching))
    values = fingerprint(under, read)
    return None if values is None else ("judged", question, values)


def _footprint(matching: Matching) -> Footprint | None:
    """Return the paths that the validations of the matching policies read; None if that may be any path."""
    policies = matching.policies()
    if policies is None:
        return None
    asked = [validation.reads for policy in policies for validation in policy.validations]
    asked += [each.reads for policy in policies for _, each in policy.audit_annotations]
    return footprint(frozenset().union(*asked))


def _judged(matching: Matching) -> Judged:
    audit: dict[str, list[str]] = {}
    found = [each for item in matching for each in _judge(matching.asking, item, audit)]
    return Judged(
        decisions=tuple(decision for decision, _ in found),
        reasons=tuple(reason for decision, reason in found if decision.action == "deny"),
        # A policy is evaluated with each of its params objects; upstream joins the different values of one key.
        audit={key: ", ".join(values) for key, values in audit.items()},
    )


def _judge(
    asking: Asking, item: Matched | Fault | Decision, audit: dict[str, list[str]]
) -> Iterable[tuple[Decision, str]]:
    """Yield (decision, status reason) for each decision of a policy.

    The policy's audit annotations are added to ``audit``.
    """
    if isinstance(item, Decision):
        yield item, ""
        return
    policy = item.policy
    audits = "Audit" in policy.source.spec.validation_actions
    if isinstance(item, Fault):
        yield from _enforce(Failure(item.message, "Invalid", EvaluationError(item.message)), item)
        if item.fatal and not item.of_set_up and audits:
            audit.setdefault(f"{policy.name}.validation_failure", [item.message])
        return
    for failure in asking.failures(policy, item.params):
        fault = Fault(policy, failure.message)
        yield from _enforce(failure, fault)
        if audits and (fault.fatal or not failure.error):
            audit.setdefault(f"{policy.name}.validation_failure", [failure.message])
    for key, value in asking.audit_annotations(policy, item.params).items():
        if isinstance(value, EvaluationError):
            # Upstream denies, whatever the actions: plugin/policy/validating/dispatcher.go, AuditAnnotationActionError.
            action: Action = "deny" if Fault(policy, "").fatal else "error"
            yield Decision(policy.name, action, f"{OF_AUDIT}{value}", fault=True), "Invalid"
            continue
        values = audit.setdefault(f"{policy.name}.{key}", [])
        values += [value] if value not in values else []


def _enforce(failure: Failure, fault: Fault) -> Iterable[tuple[Decision, str]]:
    """Yield (decision, status reason) for each validationAction of the policy ``fault.policy``.

    ``failure`` says why the pod fails the policy: a validation is false, an expression could not be evaluated (then
    ``failure.error`` is set), or the policy's params or namespace are missing (then ``fault.of_set_up`` is True).

    In three cases, only one pair is yielded. An error under failurePolicy Ignore gives a decision with the action
    "error". Otherwise, missing params or a missing namespace, and a policy without validationActions, give a denial.
    """
    name = fault.policy.name
    if failure.error and not fault.fatal:
        yield Decision(name, "error", failure.message, fault=True), failure.reason
        return
    # A policy of audit annotations alone has no actions; its errors deny.
    actions = () if fault.of_set_up else fault.policy.source.spec.validation_actions
    for action in actions or ("Deny",):
        yield Decision(name, _ACTIONS[action], failure.message, fault=failure.error), failure.reason
