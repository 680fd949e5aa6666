"""/validate-workload: what would become of the pods of a workload, as warnings when the workload itself is applied.

It never denies and never patches: the pods are decided when they come. Would-be denials are warnings that say so.
"""

from dataclasses import replace
from typing import Any

from ..errors import ReviewError
from ..kube.patch import apply
from ..kube.shape import template_problems
from ..workload.kinds import row_for
from ..workload.present import present
from . import messages, response
from .mutate import mutate
from .outcome import Decision, Outcome
from .review import AdmissionRequest
from .snapshot import Snapshot
from .validate import validate


def validate_workload(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    """Decide on one review of a workload.

    Raises:
        ReviewError: the workload's template is no pod template.
    """
    if not _concerns_pods(request):
        return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])
    workload: dict[str, Any] = request.object or {}
    presented = present(workload, namespace=request.namespace)
    problems = template_problems(presented.pod)
    if problems:
        raise ReviewError(400, "; ".join(f"template: {problem}" for problem in problems[:5]))
    known = snapshot.with_owner(presented.owner_uid, workload)
    pod_request = _pod_request(request, presented.pod)
    mutated = mutate(pod_request, known)
    decisions = list(mutated.decisions)
    if mutated.verdict != "denied":
        final = apply(presented.pod, mutated.patch)
        decisions += validate(replace(pod_request, object=final), known).decisions
    warnings = messages.within_budget(
        messages.line(item.policy, _would_be(item))
        for item in sorted(decisions, key=lambda item: item.action != "deny")
        if item.action != "audit"
    )
    return Outcome(
        response=response.allowed(request.uid, warnings),
        verdict="allowed",
        decisions=tuple(decisions),
        patch=[],
        warnings=warnings,
    )


def _concerns_pods(request: AdmissionRequest) -> bool:
    """Say whether the review changes what pods come: a creation, or an update of the spec, of a kind we know."""
    if request.operation not in ("CREATE", "UPDATE") or request.object is None or row_for(request.object) is None:
        return False
    return request.operation == "CREATE" or (request.old_object or {}).get("spec") != request.object.get("spec")


def _pod_request(request: AdmissionRequest, pod: dict[str, Any]) -> AdmissionRequest:
    """Return the review that the workload's controller would cause for ``pod``."""
    kind, resource = (
        {"group": "", "version": "v1", what: name} for what, name in (("kind", "Pod"), ("resource", "pods"))
    )
    envelope = {**request.envelope, "kind": kind, "resource": resource, "operation": "CREATE", "name": ""}
    return replace(
        request,
        group="",
        version="v1",
        kind="Pod",
        resource="pods",
        sub_resource="",
        name="",
        operation="CREATE",
        object=pod,
        old_object=None,
        envelope=envelope,
    )


def _would_be(item: Decision) -> str:
    return f"pods of this workload would be denied: {item.message}" if item.action == "deny" else item.message
