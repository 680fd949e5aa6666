"""What a check found: the report that every output format is made from, and that ``-o json`` prints.

Field names here are those of the JSON, in snake case. The JSON's shape is versioned: ``VERSION`` grows when a reader
of the old shape would go wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from ..kube.documents import PositionedDocument

VERSION: Final = 1

Verdict: TypeAlias = Literal["denied", "mutated", "unchanged", "skipped", "error"]
VERDICTS: Final[tuple[Verdict, ...]] = ("denied", "error", "mutated", "unchanged", "skipped")
"""The gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A denial, a warning or an error, at the field that it is about."""

    policy: str
    """Empty where podberth itself speaks: the YAML, the shape, what no policy is asked about."""
    message: str
    field: str
    """The path in the document, as people write it (``kube.positions.render_path``); empty for the document."""
    line: int
    """Where the field stands in the file, from 1; where it is absent, its nearest parent. 0: nowhere."""
    action: str = ""
    """What the policy decided (``admission.outcome.Action``); empty where podberth itself speaks. Not in JSON."""
    rule: str = ""
    """The field of the policy that decided it: ``mutations`` or ``validations``. Not in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One operation of RFC 6902 that a policy would apply; ``path`` is a JSON Pointer into the document."""

    policy: str
    op: Literal["add", "replace", "remove"]
    path: str
    value: Any
    """None for ``remove``."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """What one policy would write on a pod, whether or not a document can hold it."""

    policy: str
    claims: Mapping[str, Any] = field(hash=False)
    """What it wrote, by concern, as in the record; empty where that is too long to be kept."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one pod template, or of a document without one.

    ``skipped`` is a document that makes no pods that podberth could foretell, or none that are its business: a warning
    says which. ``error`` is one that could not be judged; ``errors`` says why.
    """

    file: str
    line: int
    """Where the template (of a document without one, the document) starts."""
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
    """What admission will write that the document cannot hold, such as a name that only the cluster knows."""
    changes: tuple[Change, ...] = ()
    audits: tuple[Finding, ...] = ()
    """What would be written to the audit log; in JSON of live workloads alone."""
    held_back: tuple[str, ...] = ()
    """Policies whose rollout does not reach this workload; likewise."""
    in_force: tuple[str, ...] = ()
    """Policies that have written on live pods already what they would write; likewise."""
    wrote: tuple[Wrote, ...] = field(default=(), compare=False, repr=False)
    """What is written on the pod itself. Not in JSON."""
    earlier: tuple[Change, ...] = field(default=(), compare=False, repr=False)
    """Those of the document's templates before this one, from where ``changes`` lead on. Not in JSON."""
    unexpanded: bool = field(default=False, compare=False, repr=False)
    """Whether it is of a template that somebody came upon and nobody has expanded. Not in a report."""
    source: PositionedDocument | None = field(default=None, compare=False, repr=False)
    """The document as it was read, for the difference and the patched text; None where it could not be. Not in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCount:
    """To how many live workloads a policy would do what; a workload may count in several columns."""

    policy: str
    actions: tuple[str, ...]
    """Its own validationActions, whatever it was judged as."""
    percent: int
    """Of its rollout; 100 where it has none."""
    denied: int
    changed: int
    warned: int
    audited: int
    in_force: int
    """Workloads on whose pods it has written already what it would write."""
    held_back: int
    """Workloads that its rollout does not reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What came of the workloads of a cluster: each once, by the gravest of its templates."""

    workloads: int
    denied: int
    error: int
    changed: int
    unchanged: int
    warned: int
    """Those with a warning, whatever else became of them."""
    spoken_for: int
    """Objects that are not repeated, for a workload above them speaks for them."""
    finished: int
    """Workloads that make no pods any more."""
    exempt: int
    """Workloads whose namespace podberth never sees."""
    unknown: Mapping[str, int]
    """Kinds that nobody knows to make pods or to make none, with their numbers."""
    missing: tuple[str, ...]
    """What could not be listed, and why: the report is of the rest alone."""
    policies: tuple[PolicyCount, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as ``-o json`` has it."""
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
    """How many files were read."""
    documents: int
    """How many documents they held, empty ones left out."""
    live: Live | None = None
    """What a check of a cluster's workloads adds; None of manifests."""

    def count(self, verdict: Verdict) -> int:
        """Return how many results have a verdict."""
        return sum(result.verdict == verdict for result in self.results)

    @property
    def skipped_kinds(self) -> dict[str, int]:
        """Count what was skipped by ``apiVersion/Kind``: nothing is passed over in silence."""
        counted: dict[str, int] = {}
        for result in self.results:
            if result.verdict == "skipped":
                name = f"{result.api_version} {result.kind}".strip()
                counted[name] = counted.get(name, 0) + 1
        return dict(sorted(counted.items()))

    def as_json(self) -> dict[str, Any]:
        """Return the report as ``-o json`` has it."""
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


def _change(change: Change) -> dict[str, Any]:
    value = {} if change.op == "remove" else {"value": change.value}
    return {"policy": change.policy, "op": change.op, "path": change.path, **value, "reason": change.reason}
