"""The text output of ``podberth explain``: a block for each policy, with a tree of the evaluated expressions."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..admission.explain import Evaluated, Explained, PolicyExplained
from ..admission.explain_json import ExplainedPod
from ..admission.reach import PodReach
from ..cel.trace import ExpressionResult, Traced
from ..check.report.styled_lines import Line, Span, visible
from ..wellknown import POLICY_KIND
from ..words import listed
from ..workload.gpus import gpu_facts
from . import explain_brief
from .snapshot_time import as_of
from .terminal import Terminal, columns, cut

_NARROWEST_VALUE = 16
# Nodes are named as long as the list can be read at a glance.
_MOST_NODES = 6
_VERDICTS = {"denied": "bold red", "mutated": "bold green", "unchanged": "bold"}
_ACTIONS = {"deny": "bold red", "error": "red", "warn": "yellow", "conflict": "yellow", "skip": "yellow"}


def show(subjects: Sequence[ExplainedPod], terminal: Terminal, *, brief: bool = False) -> None:
    """Print the explanations of all pods; with ``brief``, without the values of the expressions."""
    for number, subject in enumerate(subjects):
        if number:
            terminal.line()
        _show(subject, terminal, brief=brief)


def _show(subject: ExplainedPod, terminal: Terminal, *, brief: bool) -> None:
    explanation = subject.explanation
    name = "/".join(filter(None, (subject.kind, subject.namespace, subject.name)))
    name += f" {subject.path}" if subject.path else ""
    verdict = Span(explanation.verdict, _VERDICTS[explanation.verdict])
    terminal.put([Line((Span(f"{subject.file}:{subject.line} {name}: ", "bold"), verdict))])
    if brief:
        terminal.put(explain_brief.effects(explanation.policies, terminal.width))
    for line in explanation.denial.splitlines():
        terminal.paragraph(line, "bold red", first=[Span("denied:  ", "bold red")])
    for warning in explanation.warnings:
        terminal.paragraph(warning, "yellow", first=[Span("warns:   ", "yellow")])
    for text in subject.unjudged:
        terminal.paragraph(text, "red", first=[Span("error:   ", "red")])
    if subject.is_pod:
        _show_nodes(subject, terminal)
    terminal.put((explain_brief.without_effect if brief else _trees)(explanation.policies, terminal.width))


def _trees(policies: Iterable[Explained], width: int) -> Iterator[Line]:
    for policy in policies:
        for asking in _distinct_reviews(policy):
            yield from _drawn(_block(policy, asking), width)


def _show_nodes(subject: ExplainedPod, terminal: Terminal) -> None:
    terminal.paragraph(_where(subject.before, subject.node_count), first=[Span("nodes before: ")])
    if subject.before is not None:
        after = "none: it is denied" if subject.after is None else _where(subject.after, subject.node_count)
        terminal.paragraph(after, first=[Span("nodes after:  ")])
        if subject.after is not None and (
            subject.after.use or (subject.after.nodes and subject.after.free is not None)
        ):
            terminal.paragraph(_free(subject, subject.after), first=[Span("free:         ")])


def _where(reach: PodReach | None, known: int) -> str:
    if reach is None:
        return "not known; give --topology"
    text = f"{len(reach.nodes)} of {known}{_named(reach.nodes)}"
    if reach.preferred:
        text += f"; prefers {len(reach.preferred)}{_named(reach.preferred)}"
    excluded = [f"{len(names)} {why}" for why, names in reach.excluded]
    return f"{text}; left out: {', '.join(excluded)}" if excluded else text


def _free(subject: ExplainedPod, reach: PodReach) -> str:
    devices = listed([f"{units} {resource}" for resource, units in gpu_facts(subject.explanation.pod or {}).totals])
    when = f" {as_of(subject.snapshot_at, datetime.now(UTC))}" if subject.snapshot_at else ""
    if reach.free is None:
        text = f"{listed([f'{each.free} of {each.allocatable} {name}' for name, each in reach.use])} on these"
    else:
        used = listed([f"{each.used} of {each.allocatable} {name}" for name, each in reach.use])
        text = f"{len(reach.free)} of these have {devices} free{_named(reach.free)}{f', {used} used' if used else ''}"
    return f"{text}{when}; no decision or denial uses that"


def _named(nodes: Sequence[str]) -> str:
    left = len(nodes) - _MOST_NODES
    return f" ({', '.join(nodes[:_MOST_NODES])}{f' and {left} more' if left > 0 else ''})" if nodes else ""


def _distinct_reviews(policy: Explained) -> Iterator[PolicyExplained]:
    """Yield the explanations of a policy's decisions in /mutate and /validate.

    If both explanations say for an equal reason that the policy did not match, only the first is yielded.
    """
    shown: list[PolicyExplained] = []
    for asking in policy.askings:
        if not any(_same(asking, each) for each in shown):
            shown.append(asking)
            yield asking


def _same(one: PolicyExplained, other: PolicyExplained) -> bool:
    answers = [[(each.path, each.answer) for each in asking.expressions] for asking in (one, other)]
    return not one.matched and not other.matched and one.why == other.why and answers[0] == answers[1]


# ---- the tree -------------------------------------------------------------------------------------------------------


_NOTHING = Span("")


@dataclass(slots=True)
class _Row:
    """A row in the tree of expressions: a text, a value, and the rows below.

    If text and value are too long for the line, both are truncated, and a part of the text and of the value is always
    shown.
    """

    text: Span
    value: Span = _NOTHING
    between: str = ""
    below: list["_Row"] = field(default_factory=list)

    def add(self, text: Span | str, value: Span = _NOTHING, between: str = " = ") -> "_Row":
        """Add a row below ``self``, and return the added row; ``between`` stands between the text and the value."""
        source, style = (text.text, text.style) if isinstance(text, Span) else (text, "")
        row = _Row(
            Span(visible(" ".join(source.split())), style),
            Span(visible(value.text), value.style),
            between if value.text else "",
        )
        self.below.append(row)
        return row


def _block(policy: Explained, asking: PolicyExplained) -> _Row:
    said = Span("applies", "green") if asking.matched else Span(f"no: {asking.why}", "yellow")
    name = f"{policy.policy} /{asking.phase}" if policy.kind == POLICY_KIND else f"{policy.kind} {policy.policy}"
    top = _Row(Span(name, "bold"), said, "  ")
    for name in asking.params:
        top.add("params", Span(name))
    for expression in (*asking.expressions, *asking.variables):
        _add(top, expression)
    for written in asking.written:
        writer = written.mutation if policy.kind == POLICY_KIND else f"with binding {written.mutation}"
        change = top.add(Span(f"{writer} writes", "green"), Span(written.reason), ": ")
        for operation in written.patch:
            value = "" if operation["op"] == "remove" else _json(operation.get("value"))
            change.add(f"{operation['op']} {operation['path']}", Span(value), "  ")
    for mutation, why in asking.left_out:
        top.add(Span(f"{mutation} writes nothing", "yellow"), Span(why), ": ")
    for decision in asking.decisions:
        if decision.action != "mutate":
            top.add(Span(decision.action, _ACTIONS.get(decision.action, "")), Span(decision.message), ": ")
    return top


def _add(row: _Row, expression: Evaluated) -> None:
    """Add a row with an expression's path and value to ``row``; below it are rows for its parts and loop elements."""
    label = expression.path.removeprefix("spec.").removesuffix(".expression")
    branch = row.add(Span(label, "bold"), _shown(expression.answer))
    if expression.tree is not None:
        _add_part(branch, expression.tree)


def _add_part(row: _Row, part: Traced) -> None:
    if not part.asked:
        row.add(Span(part.text, "dim"), Span("not asked", "dim"), "  ")
        return
    branch = row.add(part.text, _shown(part.answer))
    for each in part.parts:
        _add_part(branch, each)
    for element in part.elements:
        branch.add(f"of {_json(element.element)}", _shown(element.answer))
    if part.more:
        branch.add(Span(f"and {part.more} more", "dim"))


def _shown(answer: ExpressionResult) -> Span:
    if answer.error:
        return Span(f"no value: {answer.error}", "red")
    if answer.absent:
        return Span("absent", "cyan")
    if isinstance(answer.value, bool):
        return Span(_json(answer.value), "green" if answer.value else "red")
    return Span(_json(answer.value), "cyan")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def _drawn(row: _Row, width: int, lead: str = "", below: str = "") -> Iterator[Line]:
    """Yield the output lines of a row and of the rows below, with the strokes that connect the rows to a tree.

    ``lead`` is the prefix of the row's own line, ``below`` the prefix of the lines below the row.
    """
    room = max(width - len(lead) - len(row.between), 2 * _NARROWEST_VALUE)
    value = cut(row.value.text, max(_NARROWEST_VALUE, room // 2, room - columns(row.text.text)))
    text = cut(row.text.text, room - columns(value))
    spans = (Span(lead, "dim"), Span(text, row.text.style), Span(row.between), Span(value, row.value.style))
    yield Line(spans, hanging=len(lead))
    for number, each in enumerate(row.below, 1):
        last = number == len(row.below)
        yield from _drawn(each, width, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
