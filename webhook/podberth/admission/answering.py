"""Builds the outcome of a review from the decisions of the policies: admitted, patched or denied, with warnings."""

from collections.abc import Iterable, Sequence

from ..kube.patch import Patch
from . import messages, response
from .outcome import NOT_JUDGED, Action, Decision, Judged, Outcome
from .review import AdmissionRequest


def unchanged(request: AdmissionRequest) -> Outcome:
    """Return an outcome without decisions that admits the object unchanged; for requests to which no policy applies."""
    return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])


def unread(request: AdmissionRequest, why: str) -> Outcome:
    """Return an outcome that admits an object that podberth did not read; ``why``, the reason, is the only warning."""
    return of_warnings(request, [Decision("", "warn", why)], [messages.line("", why)])


def of_warnings(
    request: AdmissionRequest, decisions: Sequence[Decision], lines: Sequence[str], last: Sequence[str] = ()
) -> Outcome:
    """Return an outcome that admits the object with warnings; ``lines`` are the warnings, the most important first.

    ``last`` are the warnings of the namespace's policies; they come last, and are the first to be cut.
    """
    warnings = messages.within_budget(lines, last)
    return Outcome(
        response=response.allowed(request.uid, warnings),
        verdict="allowed",
        decisions=tuple(decisions),
        patch=[],
        warnings=warnings,
    )


def of_mutations(request: AdmissionRequest, decisions: Sequence[Decision], patch: Patch) -> Outcome:
    """Return the outcome of /mutate: the policies' decisions, the warnings, and the patch of the pod."""
    return of_patch(request, tuple(decisions), patch, messages.of_mutations(decisions, patch))


def of_patch(
    request: AdmissionRequest, decisions: tuple[Decision, ...], patch: Patch, warnings: tuple[str, ...] = ()
) -> Outcome:
    """Return an outcome that admits the object with ``patch``, which may be empty, and with ``warnings``."""
    return Outcome(
        response=response.patched(request.uid, patch, warnings, exceptions_in(decisions)),
        verdict="mutated" if patch else "allowed",
        decisions=decisions,
        patch=patch,
        warnings=warnings,
    )


def of_fault(request: AdmissionRequest, decisions: Sequence[Decision], policy: str, fault: str) -> Outcome:
    """Return the denial by /mutate because ``policy``, whose failurePolicy is Fail, failed with the error ``fault``."""
    text = messages.line(policy, f"cannot be applied: {fault} (failurePolicy Fail)")
    body = response.denied(request.uid, text, audit=exceptions_in(decisions))
    return Outcome(response=body, verdict="denied", decisions=tuple(decisions), patch=[])


def of_validations(
    request: AdmissionRequest, decisions: Sequence[Decision], judged: Judged, own: Judged = NOT_JUDGED
) -> Outcome:
    """Return the outcome of /validate: a denial if a policy denies, else the admission with warnings.

    The first denial sets the reason and the status code of the answer; the message joins the messages of all denials.
    Messages of the namespace's policies come last, because the length of the answer is limited and messages of the
    cluster's policies take precedence.

    Args:
        request: the review.
        decisions: the warnings about the pod that name no policy, then the decisions in ``judged``.
        judged: the result of the cluster's policies: its status reasons and audit annotations go into the outcome.
        own: the result of the policies of the pod's namespace.
    """
    of_cluster, of_namespace = _lines(decisions), _lines(own.decisions)
    warnings = messages.within_budget(*([*each["error"], *each["warn"]] for each in (of_cluster, of_namespace)))
    decisions = (*decisions, *own.decisions)
    audit = {**judged.audit, **exceptions_in(decisions)}
    reasons = (*judged.reasons, *own.reasons)
    if reasons:
        message = "\n".join(messages.within_budget(of_cluster["deny"], of_namespace["deny"]))
        body = response.denied(request.uid, message, reason=reasons[0], warnings=warnings, audit=audit)
    else:
        body = response.allowed(request.uid, warnings, audit)
    return Outcome(
        response=body,
        verdict="denied" if reasons else "allowed",
        decisions=decisions,
        patch=[],
        warnings=warnings,
    )


def _lines(decisions: Iterable[Decision]) -> dict[Action, list[str]]:
    """Return a mapping from "deny", "error" and "warn" to a line for each decision with this action.

    A line has the name of the decision's policy and the message (``messages.line``).
    """
    lines: dict[Action, list[str]] = {"deny": [], "error": [], "warn": []}
    for each in decisions:
        if each.action in lines:
            lines[each.action].append(messages.line(each.policy, each.message))
    return lines


def exceptions_in(decisions: Iterable[Decision]) -> dict[str, str]:
    """Return audit annotations: from ``<policy>.exception`` to the name of the GPUPolicyException for the policy."""
    return {f"{each.policy}.exception": each.exception for each in decisions if each.action == "except"}
