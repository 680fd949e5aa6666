"""Applies MutatingAdmissionPolicies to an object of a file, and to the pods of the object's templates.

The API server evaluates MutatingAdmissionPolicies before calling podberth. This module turns the results of the
evaluation (``native.mutating``) into changes of the document, and findings.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..admission.outcome import Written
from ..kube.carry import NotCarriedError, carry
from ..kube.patch import operations
from ..kube.paths import Path
from ..native.cases import NativeDecision
from ..native.mutating import Mutated
from ..workload.templates import Template
from .natives import Natives, finding, lasting
from .other_files import is_part_of_a_tool
from .result import DocumentChange, Finding, Verdict, Wrote
from .sources import Source


class NativeFindings(NamedTuple):
    """The decisions of MutatingAdmissionPolicies on an object, as findings for the report."""

    denials: tuple[Finding, ...] = ()
    errors: tuple[Finding, ...] = ()
    """A finding for each decision that podberth cannot make as the API server would."""
    notes: tuple[Finding, ...] = ()

    @property
    def over(self) -> Verdict | None:
        """The verdict if it is final: "denied", or "error" if podberth cannot evaluate a policy; else None."""
        if self.errors:
            return "error"
        return "denied" if self.denials else None


@dataclass(frozen=True, slots=True)
class OnPod:
    """The result of applying MutatingAdmissionPolicies to the pod of one template; empty if there are no policies."""

    natives: Natives | None
    source: Source
    path: Path
    """The path of the template in the object."""
    mutated: Mutated | None

    @property
    def said(self) -> NativeFindings:
        """The findings of MutatingAdmissionPolicies about the pod, at the path of the pod's template."""
        return _said(self.source, self.path, self.mutated.decisions if self.mutated else ())

    @property
    def written(self) -> list[Written]:
        """The writes of MutatingAdmissionPolicies on the pod, which come before the writes of podberth's policies."""
        return [
            Written(policy=each.policy, mutation="", reason=each.reason, patch=operations(each.before, each.after))
            for each in (self.mutated.writes if self.mutated else ())
        ]

    @property
    def wrote(self) -> tuple[Wrote, ...]:
        """The writes of MutatingAdmissionPolicies on the pod that podberth does not undo."""
        return wrote_by((each.policy, each.reason) for each in lasting(self.mutated.writes if self.mutated else ()))

    def asked_again(self, pod: dict[str, Any]) -> tuple[Finding, ...]:
        """Return an error for each MutatingAdmissionPolicy that would change ``pod`` when evaluated again.

        ``pod`` is the pod after the writes of podberth's policies.
        """
        if self.natives is None or self.mutated is None:
            return ()
        return _said(self.source, self.path, self.natives.asked_again(self.mutated, pod)).errors


def on_object(
    natives: Natives | None, source: Source, content: dict[str, Any]
) -> tuple[dict[str, Any], tuple[DocumentChange, ...], NativeFindings] | None:
    """Return (changed object, changes, findings) of MutatingAdmissionPolicies for an object, without its future pods.

    None if no policy changes or denies the object. None also for a Pod, because another function returns the result
    for Pods.
    """
    if natives is None or (source.api_version, source.kind) == ("v1", "Pod") or is_part_of_a_tool(source):
        return None
    mutated = natives.mutated(content)
    if mutated is None or not (mutated.writes or mutated.decisions):
        return None
    changes, unplaced = list[DocumentChange](), list[Finding]()
    for each in () if mutated.is_denied else mutated.writes:
        try:
            after = carry(content, each.before, each.after)
        except NotCarriedError as error:
            message = f"{each.reason}: what it writes has no place in the document"
            at, line = source.field(error.steps), source.line(error.steps)
            unplaced.append(Finding(policy=each.policy, message=message, field=at, line=line))
            continue
        changes += [
            DocumentChange.of(source.root, each.policy, operation, each.reason)
            for operation in operations(content, after)
        ]
        content = after
    said = _said(source, (), mutated.decisions)
    return content, tuple(changes), said._replace(notes=(*unplaced, *said.notes))


def on_pod(natives: Natives | None, source: Source, template: Template) -> OnPod:
    """Return the result of MutatingAdmissionPolicies for the pod of a template."""
    # No API server can decode the pod of a template with problems, so no policy is evaluated for it
    mutated = natives.mutated(template.pod) if natives and not template.problems else None
    return OnPod(natives, source, template.path, mutated)


def wrote_by(writes: Iterable[tuple[str, str]]) -> tuple[Wrote, ...]:
    """Return the writes of native policies; ``writes`` has (policy, reason) of each."""
    found = dict.fromkeys(writes)
    return tuple(Wrote(policy=policy, recorded={}, reason=reason, native=True) for policy, reason in found)


def _said(source: Source, path: Path, decisions: Sequence[NativeDecision]) -> NativeFindings:
    found = [finding(source, path, each.text, each) for each in decisions]
    return NativeFindings(
        *(tuple(each for each in found if each.action == action) for action in ("deny", "unjudged", "note"))
    )
