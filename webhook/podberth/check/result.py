"""The result of a check: a report that every output format is made from, and that ``-o json`` prints.

The fields of the classes have the names of the JSON's fields, in snake case. The JSON's format is versioned:
``VERSION`` grows with each incompatible change.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, TypeAlias

from ..kube.documents import PositionedDocument
from ..kube.paths import Path, pointer

VERSION: Final = 1

Verdict: TypeAlias = Literal["denied", "mutated", "unchanged", "skipped", "error"]
VERDICTS: Final[tuple[Verdict, ...]] = ("denied", "error", "mutated", "unchanged", "skipped")
"""All verdicts, the most severe first."""
RECORD: Final = ("podberth", "its record of the policies' changes")
"""The (policy, reason) of the change by which podberth records on the pod what policies have changed."""
# The limit for a list in a message: placeholders of a document, their lines, the places of its pods
_MOST_NAMED: Final = 5
_LEFT: Final = frozenset({"skip", "note"})
"""The actions of mutations that are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A denial, a warning or an error about a document, with the field that the message is about."""

    policy: str
    """The policy's name; empty for podberth's own findings, such as invalid YAML or a wrong type."""
    message: str
    field: str
    """The field's path in the document, as ``kube.positions.render_path`` writes it; empty for the whole document."""
    line: int
    """The line of the field in the file, counted from 1.

    If the field is absent, the line of the nearest parent; 0 if no line is known.
    """
    action: str = ""
    """The action of the policy's decision (``admission.outcome.Action``); empty for podberth's own findings.

    The JSON omits the action.
    """
    rule: str = ""
    """The part of the policy that the decision is from: ``mutations`` or ``validations``. The JSON omits this part."""


def shown(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first few of the names as one text, with an ellipsis at the end if there are more."""
    return separator.join([*names[:_MOST_NAMED], *["…"][: len(names) > _MOST_NAMED]])


def at_other_fields(found: Iterable[Finding], reported: Iterable[Finding]) -> list[Finding]:
    """Return those of ``found`` at whose field nothing is reported yet."""
    fields = {each.field for each in reported}
    return [each for each in found if each.field not in fields]


def skips_once(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings; of skipped mutations with equal messages at one line, only the first."""
    said: set[tuple[str, int]] = set()
    for each in found:
        if each.action not in _LEFT or (each.message, each.line) not in said:
            yield each
        if each.action in _LEFT:
            said.add((each.message, each.line))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """One JSON Patch operation (RFC 6902) by which a policy changes a document; ``path`` is a JSON Pointer."""

    policy: str
    op: Literal["add", "replace", "remove"]
    path: str
    value: Any
    """The new value; None for ``remove``."""
    reason: str

    @classmethod
    def of(cls, root: Path, policy: str, operation: Mapping[str, Any], reason: str) -> Self:
        """Return a policy's patch operation on an object as a change of the object's document.

        ``root`` is the path of the object in the document.
        """
        path, value = pointer(root) + operation["path"], operation.get("value")
        return cls(policy=policy, op=operation["op"], path=path, value=value, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """All writes of one policy on a pod, including writes for which the checked document has no field."""

    policy: str
    recorded: Mapping[str, Any] = field(hash=False)
    """The writes by concern (kind of mutation), as in the pod's record; empty if the record is too long to be kept."""
    reason: str
    native: bool = False
    """Whether the policy is a native policy, whose writes are in no record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of checking one pod template, or a document without a template.

    The verdict "skipped" means that nothing was decided: the document is no Kubernetes object, or podberth cannot
    predict the document's pods or does not decide on the pods. If pods may stay unchecked, a warning or a note says
    why. The verdict "error" means that the document could not be checked; ``errors`` says why.
    """

    file: str
    line: int
    """The line where the template starts; if the document has no template, the line where the document starts."""
    api_version: str
    kind: str
    namespace: str
    """Empty if the object is cluster-scoped, or if it names no namespace and nothing is known of its kind."""
    name: str
    path: str
    """The template's path in the document (``spec.template``); empty for a Pod or a document without a template."""
    verdict: Verdict
    denials: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    errors: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    """Findings about policies' writes for which the document has no field, such as a name that only the cluster
    knows."""
    changes: tuple[DocumentChange, ...] = ()
    audits: tuple[Finding, ...] = ()
    """Findings that are only entries of the audit log; the JSON has these findings only for live workloads."""
    held_back: tuple[str, ...] = ()
    """The policies whose rollout does not include the workload; the JSON has them only for live workloads."""
    in_force: tuple[str, ...] = ()
    """The policies whose writes a live pod already has; the JSON has them only for live workloads."""
    wrote: tuple[Wrote, ...] = field(default=(), compare=False, repr=False)
    """The writes of each policy on the pod. Not in JSON."""
    unlabelled: tuple[str, tuple[str, ...]] = field(default=("", ()), compare=False, repr=False)
    """(the namespace in which the object's pods were judged, the policies that may read labels of this Namespace).

    There are such policies only if no given file has the Namespace, and only on the first result of an object. The JSON
    has them in the summary.
    """
    unplaced: bool = field(default=False, compare=False, repr=False)
    """Whether nodes are known, and none fits a pod of the object; on the first result of the object. In JSON it is in
    the summary."""
    seconds: float = field(default=0, compare=False, repr=False)
    """The time of judging the object, on its first result; 0 if nobody measured it. Only JUnit has it."""
    earlier: tuple[DocumentChange, ...] = field(default=(), compare=False, repr=False)
    """The changes for the earlier templates of the document; ``changes`` apply after ``earlier``. Not in JSON."""
    unexpanded: bool = field(default=False, compare=False, repr=False)
    """Whether the file is an unexpanded template that was found in a folder. Not in JSON."""
    source: PositionedDocument | None = field(default=None, compare=False, repr=False)
    """The document, from which the difference and the patched text are made; None if the document could not be read.

    Not in JSON.
    """

    @property
    def changes_later(self) -> bool:
        """Whether policies write on the pod, and the document has a field for none of the writes."""
        return self.verdict == "unchanged" and bool(self.wrote)

    @property
    def object_name(self) -> str:
        """The kind, namespace and name of the object, as ``Deployment/default/app``; what is unknown is left out."""
        return "/".join(filter(None, (self.kind, self.namespace, self.name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCount:
    """The number of live workloads on which a policy has each effect; a workload may count for several effects."""

    policy: str
    actions: tuple[str, ...]
    """The validationActions in the policy's spec, without the assumptions of the check."""
    percent: int
    """The percentage of the policy's rollout; 100 without a rollout."""
    denied: int
    changed: int
    warned: int
    audited: int
    in_force: int
    """The number of workloads with a live pod that already has the policy's writes."""
    held_back: int
    """The number of workloads that the policy's rollout does not include."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The numbers of a cluster's workloads, by verdict and by policy.

    A workload with several templates counts under the most severe verdict of its templates.
    """

    workloads: int
    denied: int
    error: int
    changed: int
    unchanged: int
    warned: int
    """The number of workloads with a warning, with any verdict."""
    owned: int
    """The number of objects that are not counted because another object, their owner, is the workload."""
    finished: int
    """The number of workloads that create no more pods."""
    exempt: int
    """The number of workloads in namespaces for which the API server does not call podberth."""
    unknown: Mapping[str, int]
    """A mapping from each kind of which podberth does not know whether it creates pods to the number of objects."""
    missing: tuple[str, ...]
    """The kinds that could not be listed, with the reasons; the report does not cover these kinds."""
    policies: tuple[PolicyCount, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the numbers of workloads, by verdict and by policy, in the format of ``-o json``."""
        return {
            "workloads": self.workloads,
            "denied": self.denied,
            "error": self.error,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "warned": self.warned,
            "spokenFor": self.owned,
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
    """Everything that a check found, ordered by file and line."""

    results: tuple[Result, ...]
    files: int
    """The number of files that were read."""
    documents: int
    """The number of documents in the files that were read, without empty documents."""
    live: Live | None = None
    """The numbers of a cluster's workloads; None for a check of manifests."""

    def count(self, verdict: Verdict) -> int:
        """Return the number of results whose verdict is ``verdict``."""
        return sum(result.verdict == verdict for result in self.results)

    @property
    def skipped_kinds(self) -> dict[str, int]:
        """A mapping from a kind with its apiVersion to the number of skipped documents of the kind.

        An example of a key is "apps/v1 Deployment".
        """
        skipped = (result for result in self.results if result.verdict == "skipped")
        return dict(sorted(Counter(f"{each.api_version} {each.kind}".strip() for each in skipped).items()))

    @property
    def unknown_namespaces(self) -> dict[str, list[str]]:
        """A mapping from a namespace that no given file has to the policies that may read its labels."""
        return by_namespace(each.unlabelled for each in self.results)

    @property
    def fits_no_node(self) -> list[str]:
        """The accepted objects with a pod that fits no known node, by kind, namespace and name: ``Pod/default/a``."""
        return [each.object_name for each in self.results if each.unplaced]

    def as_json(self) -> dict[str, Any]:
        """Return the report in the format of ``-o json``."""
        return {
            "version": VERSION,
            "summary": {
                "files": self.files,
                "documents": self.documents,
                **{verdict: self.count(verdict) for verdict in VERDICTS},
                "warnings": sum(len(result.warnings) for result in self.results),
                "skippedKinds": self.skipped_kinds,
                "unknownNamespaces": self.unknown_namespaces,
                "fitsNoNode": self.fits_no_node,
            },
            **({"live": self.live.as_json()} if self.live else {}),
            "results": [_result(each) | (_of_live(each) if self.live else {}) for each in self.results],
        }


def by_namespace(found: Iterable[tuple[str, Collection[str]]]) -> dict[str, list[str]]:
    """Return the policies of each namespace, sorted, from pairs of a namespace and policies that may read its labels.

    A namespace without such policies is left out.
    """
    policies: dict[str, set[str]] = {}
    for namespace, names in found:
        if names:
            policies.setdefault(namespace, set()).update(names)
    return {namespace: sorted(names) for namespace, names in sorted(policies.items())}


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
