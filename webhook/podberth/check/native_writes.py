"""What MutatingAdmissionPolicies make of an object of a file and of the pods of its templates, as changes and findings.

The API server asks them before it asks podberth. What each of them makes of an object, ``native.mutating`` says; here
it is carried into the document.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..admission.outcome import Written
from ..kube.carry import NotCarriedError, carry
from ..kube.patch import operations
from ..kube.paths import Path
from ..native.cases import NativeDecision
from ..native.mutating import Mutated
from ..workload.templates import Template
from .natives import Natives, finding
from .other_files import is_part_of_a_tool
from .result import DocumentChange, Finding, Verdict
from .sources import Source


class NativeFindings(NamedTuple):
    """What they say about an object, as findings."""

    denials: tuple[Finding, ...] = ()
    errors: tuple[Finding, ...] = ()
    """What podberth cannot judge."""
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class OnObject:
    """What they make of an object itself."""

    content: dict[str, Any]
    """The document as they leave it."""
    changes: tuple[DocumentChange, ...]
    said: NativeFindings

    @property
    def verdict(self) -> Verdict:
        """The verdict of the object's result."""
        return _over(self.said) or ("mutated" if self.changes else "unchanged")


@dataclass(frozen=True, slots=True)
class OnPod:
    """What they make of the pod of one template; nothing if there are none."""

    natives: Natives | None
    source: Source
    path: Path
    """The place of the template."""
    mutated: Mutated | None

    @property
    def said(self) -> NativeFindings:
        """Their findings, at the template."""
        return _said(self.source, self.path, self.mutated.decisions if self.mutated else ())

    @property
    def over(self) -> Verdict | None:
        """The verdict if nothing more is asked about the pod: it is denied, or cannot be judged."""
        return _over(self.said)

    @property
    def written(self) -> list[Written]:
        """What they write on the pod, as mutations before podberth's own."""
        return [
            Written(policy=each.policy, mutation="", reason=each.reason, patch=operations(each.before, each.after))
            for each in (self.mutated.writes if self.mutated else ())
        ]

    def asked_again(self, pod: dict[str, Any]) -> tuple[Finding, ...]:
        """Return an error for each policy that would change the pod again, as podberth's policies leave it."""
        if self.natives is None or self.mutated is None:
            return ()
        return _said(self.source, self.path, self.natives.asked_again(self.mutated, pod)).errors


def on_object(natives: Natives | None, source: Source, content: dict[str, Any]) -> OnObject | None:
    """Return what they make of an object; None if they have no part in it. A Pod is the object of its one template."""
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
    return OnObject(content, tuple(changes), said._replace(notes=(*unplaced, *said.notes)))


def on_pod(natives: Natives | None, source: Source, template: Template) -> OnPod:
    """Return what they make of the pod of a template."""
    # Of a pod that no API server can decode there is nothing to say here
    mutated = natives.mutated(template.pod) if natives and not template.problems else None
    return OnPod(natives, source, template.path, mutated)


def _said(source: Source, path: Path, decisions: Sequence[NativeDecision]) -> NativeFindings:
    found = [finding(source, path, each.text, each) for each in decisions]
    return NativeFindings(
        *(tuple(each for each in found if each.action == action) for action in ("deny", "unjudged", "note"))
    )


def _over(said: NativeFindings) -> Verdict | None:
    if said.errors:
        return "error"
    return "denied" if said.denials else None
