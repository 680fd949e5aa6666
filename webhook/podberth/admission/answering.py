"""Builds the outcome of a review from the decisions of the policies: admitted, patched or denied, with warnings."""

from collections.abc import Iterable, Mapping, Sequence

from ..kube.patch import Patch
from . import messages, response
from .outcome import Decision, Outcome
from .review import AdmissionRequest


def unchanged(request: AdmissionRequest) -> Outcome:
    """Return an outcome without decisions that admits the object unchanged; for requests to which no policy applies."""
    return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])


def unread(request: AdmissionRequest, why: str) -> Outcome:
    """Return an outcome that admits an object that podberth did not read; ``why``, the reason, is the only warning."""
    return of_warnings(request, [Decision("", "warn", why)], [messages.line("", why)])


def of_warnings(request: AdmissionRequest, decisions: Sequence[Decision], lines: Sequence[str]) -> Outcome:
    """Return an outcome that admits the object with warnings; ``lines`` are the warnings, the most important first."""
    warnings = messages.within_budget(lines)
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
    request: AdmissionRequest, decisions: Sequence[Decision], reasons: Sequence[str], audit: Mapping[str, str]
) -> Outcome:
    """Return the outcome of /validate: a denial if a policy denies, otherwise an admission with warnings.

    The first denial sets the reason and the status code of the answer; the message joins the messages of all denials.

    Args:
        request: the review.
        decisions: the decisions of all policies.
        reasons: the status reason of each denial, such as ``Invalid``; empty if no policy denies.
        audit: the audit annotations by key.
    """
    lines = {
        action: [messages.line(item.policy, item.message) for item in decisions if item.action == action]
        for action in ("deny", "error", "warn")
    }
    warnings = messages.within_budget([*lines["error"], *lines["warn"]])
    audit = {**audit, **exceptions_in(decisions)}
    if reasons:
        message = messages.joined(lines["deny"])
        body = response.denied(request.uid, message, reason=reasons[0], warnings=warnings, audit=audit)
    else:
        body = response.allowed(request.uid, warnings, audit)
    return Outcome(
        response=body,
        verdict="denied" if reasons else "allowed",
        decisions=tuple(decisions),
        patch=[],
        warnings=warnings,
    )


def exceptions_in(decisions: Iterable[Decision]) -> dict[str, str]:
    """Return the audit annotations about excluded policies: a mapping from the policy's key to the exception's name."""
    return {f"{each.policy}.exception": each.exception for each in decisions if each.action == "except"}
