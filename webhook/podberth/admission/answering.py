"""Answering: the outcome of a review, from the decisions that were made."""

from collections.abc import Mapping, Sequence

from ..kube.patch import Patch
from . import messages, response
from .outcome import Decision, Outcome
from .review import AdmissionRequest


def unchanged(request: AdmissionRequest) -> Outcome:
    """Return the admission, without a decision, of a request that no policy is asked about."""
    return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])


def unread(request: AdmissionRequest, why: str) -> Outcome:
    """Return the one warning about an object that is not read, with the reason."""
    return of_warnings(request, [Decision("", "warn", why)], [messages.line("", why)])


def of_warnings(request: AdmissionRequest, decisions: Sequence[Decision], lines: Sequence[str]) -> Outcome:
    """Return the decisions of a review that is neither denied nor patched, with their lines in order of importance."""
    warnings = messages.within_budget(lines)
    return Outcome(
        response=response.allowed(request.uid, warnings),
        verdict="allowed",
        decisions=tuple(decisions),
        patch=[],
        warnings=warnings,
    )


def of_mutations(request: AdmissionRequest, decisions: Sequence[Decision], patch: Patch) -> Outcome:
    """Return the outcome of /mutate: the patch, and the decisions of policies to write, to skip or to leave a field."""
    return of_patch(request, tuple(decisions), patch, messages.of_mutations(decisions, patch))


def of_patch(
    request: AdmissionRequest, decisions: tuple[Decision, ...], patch: Patch, warnings: tuple[str, ...] = ()
) -> Outcome:
    """Return an outcome with a patch, which may be empty, and finished warnings."""
    return Outcome(
        response=response.patched(request.uid, patch, warnings),
        verdict="mutated" if patch else "allowed",
        decisions=decisions,
        patch=patch,
        warnings=warnings,
    )


def of_fault(request: AdmissionRequest, decisions: Sequence[Decision], policy: str, fault: str) -> Outcome:
    """Return the denial by a policy with mutations that could not be asked, under failurePolicy Fail."""
    text = messages.line(policy, f"cannot be applied: {fault} (failurePolicy Fail)")
    return Outcome(response=response.denied(request.uid, text), verdict="denied", decisions=tuple(decisions), patch=[])


def of_validations(
    request: AdmissionRequest, decisions: Sequence[Decision], reasons: Sequence[str], audit: Mapping[str, str]
) -> Outcome:
    """Return the outcome of /validate: the first denial sets the reason and the code, all denials make the message."""
    lines = {
        action: [messages.line(item.policy, item.message) for item in decisions if item.action == action]
        for action in ("deny", "error", "warn")
    }
    warnings = messages.within_budget([*lines["error"], *lines["warn"]])
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
