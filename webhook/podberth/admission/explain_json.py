"""The JSON output of ``podberth explain``. The format is versioned: ``VERSION`` grows with an incompatible change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ..cel.trace import ExpressionResult, Traced
from .explain import Evaluated, Explained, Explanation, PolicyExplained
from .reach import PodReach

VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedPod:
    """One explained pod, with the nodes on which the pod could run before and after mutations."""

    file: str
    line: int
    kind: str
    namespace: str
    name: str
    path: str
    """The template's path in the document; empty if the document is a Pod."""
    explanation: Explanation
    is_pod: bool = True
    """Whether the object is a pod. Native policies decide on objects of any kind, for which no nodes are shown."""
    unjudged: tuple[str, ...] = ()
    """The decisions of native policies that podberth cannot predict."""
    unlabelled: tuple[str, ...] = ()
    """The policies that may read labels of the object's Namespace, if no given file has the Namespace."""
    node_count: int = 0
    snapshot_at: datetime | None = None
    """The time of the snapshot with the nodes; None for simulated nodes, and if no node is known."""
    before: PodReach | None = None
    after: PodReach | None = None
    """The nodes on which the pod could run after mutations; None if the pod is denied. Both ``before`` and ``after``
    are None if no node is known."""


def as_json(subjects: Sequence[ExplainedPod]) -> dict[str, Any]:
    """Return the explanations of all pods, in the format of ``podberth explain -o json``."""
    return {"version": VERSION, "results": [_subject(each) for each in subjects]}


def _subject(subject: ExplainedPod) -> dict[str, Any]:
    explanation = subject.explanation
    return {
        "file": subject.file,
        "line": subject.line,
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "path": subject.path,
        "verdict": explanation.verdict,
        "denial": explanation.denial,
        "warnings": list(explanation.warnings),
        "unjudged": list(subject.unjudged),
        "unknownNamespace": list(subject.unlabelled),
        "patch": explanation.patch,
        "nodes": None
        if subject.before is None
        else {
            "known": subject.node_count,
            "snapshotAt": subject.snapshot_at and subject.snapshot_at.isoformat(timespec="seconds"),
            "before": _reach(subject.before),
            "after": None if subject.after is None else _reach(subject.after),
        },
        "policies": [_policy(each) for each in explanation.policies],
    }


def _reach(reach: PodReach) -> dict[str, Any]:
    return {
        "fit": list(reach.nodes),
        "preferred": list(reach.preferred),
        "free": None if reach.free is None else list(reach.free),
        "use": [{"resource": name, "used": each.used, "free": each.free} for name, each in reach.use],
        "excluded": [{"why": why, "nodes": list(nodes)} for why, nodes in reach.excluded],
    }


def _policy(policy: Explained) -> dict[str, Any]:
    return {
        "kind": policy.kind,
        "name": policy.policy,
        "order": policy.order,
        "description": policy.description,
        "reviews": [_asking(each) for each in policy.askings],
    }


def _asking(asking: PolicyExplained) -> dict[str, Any]:
    return {
        "phase": asking.phase,
        "matched": asking.matched,
        "why": asking.why,
        "params": list(asking.params),
        "variables": _evaluated(asking.variables),
        "expressions": _evaluated(asking.expressions),
        "changes": [{"mutation": each.mutation, "reason": each.reason, "patch": each.patch} for each in asking.written],
        "leftOut": [{"mutation": mutation, "why": why} for mutation, why in asking.left_out],
        "decisions": [{"action": each.action, "message": each.message} for each in asking.decisions],
    }


def _evaluated(expressions: Iterable[Evaluated]) -> list[dict[str, Any]]:
    return [
        {
            "path": each.path,
            **_answer(each.answer),
            "parts": [] if each.tree is None else [_traced(each.tree)],
        }
        for each in expressions
    ]


def _traced(traced: Traced) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": " ".join(traced.text.split()), "asked": traced.asked}
    if not traced.asked:
        return fields
    fields |= _answer(traced.answer)
    if traced.elements:
        fields["elements"] = [{"element": each.element, **_answer(each.answer)} for each in traced.elements]
        fields["moreElements"] = traced.more
    return {**fields, "parts": [_traced(part) for part in traced.parts]}


def _answer(answer: ExpressionResult) -> dict[str, Any]:
    if answer.error:
        return {"error": answer.error}
    return {"value": answer.value, **({"absent": True} if answer.absent else {})}
