"""The result of a check: the report that every output format is made from, and that ``-o json`` prints.

Field names here are those of the JSON, in snake case. The JSON's shape is versioned: ``VERSION`` grows when a reader of
the old shape would misread the new one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from ..kube.documents import PositionedDocument

VERSION: Final = 1

Verdict: TypeAlias = Literal["denied", "mutated", "unchanged", "skipped", "error"]
VERDICTS: Final[tuple[Verdict, ...]] = ("denied", "error", "mutated", "unchanged", "skipped")
"""The most severe first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A denial, a warning or an error, with its field."""

    policy: str
    """The policy; empty for podberth's own findings: YAML, shape, and checks without a policy."""
    message: str
    field: str
    """The path in the document, in ``kube.positions.render_path``'s format; empty for the document."""
    line: int
    """The line of the field in the file, from 1; of its nearest parent where the field is absent. 0: no line."""
    action: str = ""
    """The policy's decision (``admission.outcome.Action``); empty for podberth's own findings. Not in JSON."""
    rule: str = ""
    """The part of the policy that decided it: ``mutations`` or ``validations``. Not in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """One operation of RFC 6902 that a policy would apply; ``path`` is a JSON Pointer into the document."""

    policy: str
    op: Literal["add", "replace", "remove"]
    path: str
    value: Any
    """None for ``remove``."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The writes of one policy on a pod, whether or not a document can hold them."""

    policy: str
    claims: Mapping[str, Any] = field(hash=False)
    """The writes by concern, as in the record; empty where the record is too long to be kept."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one pod template, or of a document without one.

    ``skipped`` is a document that makes no pods that podberth could predict, or none that podberth decides on; a
    warning says which. ``error`` is a document that could not be checked; ``errors`` says why.
    """

    file: str
    line: int
    """The line where the template starts; for a document without one, where the document starts."""
    api_version: str
    kind: str
    namespace: str
    name: str
    path: str
    """The template's path in the document (``spec.template``); empty for a Pod and for a document without one."""
    verdict: Verdict
    denials: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    errors: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    """Writes of admission that the document cannot hold, such as a name that only the cluster knows."""
    changes: tuple[DocumentChange, ...] = ()
    audits: tuple[Finding, ...] = ()
    """Entries for the audit log; in JSON only for live workloads."""
    held_back: tuple[str, ...] = ()
    """Policies whose rollout does not include this workload; in JSON only for live workloads."""
    in_force: tuple[str, ...] = ()
    """Policies whose writes the live pods already have; in JSON only for live workloads."""
    wrote: tuple[Wrote, ...] = field(default=(), compare=False, repr=False)
    """The writes on the pod itself. Not in JSON."""
    earlier: tuple[DocumentChange, ...] = field(default=(), compare=False, repr=False)
    """The changes of the document's earlier templates, to which ``changes`` are added. Not in JSON."""
    unexpanded: bool = field(default=False, compare=False, repr=False)
    """Whether the template was found in a folder and is not expanded. Not in a report."""
    source: PositionedDocument | None = field(default=None, compare=False, repr=False)
    """The document as it was read, for the difference and the patched text; None where it could not be read. Not in
    JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCount:
    """The number of live workloads for each effect of a policy; a workload may count in several columns."""

    policy: str
    actions: tuple[str, ...]
    """The policy's own validationActions, without assumptions."""
    percent: int
    """The percentage of its rollout; 100 where it has none."""
    denied: int
    changed: int
    warned: int
    audited: int
    in_force: int
    """Workloads whose pods already have the policy's writes."""
    held_back: int
    """Workloads that its rollout does not include."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The results of a cluster's workloads: each is counted once, by its most severe template."""

    workloads: int
    denied: int
    error: int
    changed: int
    unchanged: int
    warned: int
    """Workloads with a warning, whatever their other results."""
    spoken_for: int
    """Objects that are not counted, because a workload above them is."""
    finished: int
    """Workloads that create no more pods."""
    exempt: int
    """Workloads whose namespace podberth never sees."""
    unknown: Mapping[str, int]
    """Kinds of which podberth does not know whether they create pods, with their numbers."""
    missing: tuple[str, ...]
    """Kinds that could not be listed, with the reason: the report is about the rest alone."""
    policies: tuple[PolicyCount, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the value for ``-o json``."""
        return {
            "workloads": self.workloads,
            "denied": self.denied,
            "error": self.error,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "warned": self.warned,
            "spokenFor": self.spoken_for,
            "finished": self.finished,
            "exempt": self.exempt,
            "unknownKinds": dict(self.unknown),
            "missing": list(self.missing),
            "policies": [
                {
                    "policy": each.policy,
                    "validationActions": list(each.actions),
                    "rolloutPercent": each.percent,
                    "denied": each.denied,
                    "changed": each.changed,
                    "warned": each.warned,
                    "audited": each.audited,
                    "inForce": each.in_force,
                    "heldBack": each.held_back,
                }
                for each in self.policies
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a check found, in order of file and line."""

    results: tuple[Result, ...]
    files: int
    """The number of files that were read."""
    documents: int
    """The number of documents in these files, without empty ones."""
    live: Live | None = None
    """The results of a cluster's workloads; None for manifests."""

    def count(self, verdict: Verdict) -> int:
        """Return the number of results with a verdict."""
        return sum(result.verdict == verdict for result in self.results)

    @property
    def skipped_kinds(self) -> dict[str, int]:
        """Count the skipped documents by ``apiVersion/Kind``, so that each one is reported."""
        counted: dict[str, int] = {}
        for result in self.results:
            if result.verdict == "skipped":
                name = f"{result.api_version} {result.kind}".strip()
                counted[name] = counted.get(name, 0) + 1
        return dict(sorted(counted.items()))

    def as_json(self) -> dict[str, Any]:
        """Return the report for ``-o json``."""
        return {
            "version": VERSION,
            "summary": {
                "files": self.files,
                "documents": self.documents,
                **{verdict: self.count(verdict) for verdict in VERDICTS},
                "warnings": sum(len(result.warnings) for result in self.results),
                "skippedKinds": self.skipped_kinds,
            },
            **({"live": self.live.as_json()} if self.live else {}),
            "results": [_result(each) | (_of_live(each) if self.live else {}) for each in self.results],
        }


def _result(result: Result) -> dict[str, Any]:
    return {
        "file": result.file,
        "line": result.line,
        "apiVersion": result.api_version,
        "kind": result.kind,
        "namespace": result.namespace,
        "name": result.name,
        "path": result.path,
        "verdict": result.verdict,
        "denials": _findings(result.denials),
        "warnings": _findings(result.warnings),
        "errors": _findings(result.errors),
        "notes": _findings(result.notes),
        "changes": [_change(each) for each in result.changes],
    }


def _of_live(result: Result) -> dict[str, Any]:
    return {"audits": _findings(result.audits), "inForce": list(result.in_force), "heldBack": list(result.held_back)}


def _findings(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {"policy": each.policy, "message": each.message, "field": each.field, "line": each.line} for each in findings
    ]


def _change(change: DocumentChange) -> dict[str, Any]:
    value = {} if change.op == "remove" else {"value": change.value}
    return {"policy": change.policy, "op": change.op, "path": change.path, **value, "reason": change.reason}
