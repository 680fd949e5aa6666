"""What ``podberth explain`` prints for people: a block for each policy, with a tree of values below what it asked."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text
from rich.tree import Tree

from ..admission.explain import Asking, Evaluated, Explained
from ..admission.reach import Reach
from ..cel.trace import Answer, Traced
from .explain import Subject

# Of a line in a pipe or a file, where nobody knows how wide the reader's screen is.
_PIPE_WIDTH = 160
_NARROWEST_VALUE = 16
# Nodes are named as long as they can be read at a glance.
_MOST_NODES = 6
_STYLES = {True: "green", False: "red"}
_ACTIONS = {"deny": "bold red", "error": "red", "warn": "yellow", "conflict": "yellow", "skip": "yellow"}


def show(subjects: Sequence[Subject], stream: TextIO) -> None:
    """Write everything to ``stream``; in colour on a terminal, unless NO_COLOR is set."""
    on_terminal = stream.isatty()
    plain = not on_terminal or bool(os.environ.get("NO_COLOR"))
    width = shutil.get_terminal_size().columns if on_terminal else _PIPE_WIDTH
    console = Console(file=stream, highlight=False, force_terminal=not plain, width=width)
    for number, subject in enumerate(subjects):
        if number:
            console.print()
        _show(subject, console)


def _show(subject: Subject, console: Console) -> None:
    explanation = subject.explanation
    name = f"{subject.kind} {subject.namespace}/{subject.name}" + (f" {subject.path}" if subject.path else "")
    _print(console, Text.assemble((f"{subject.file}:{subject.line} {name}: ", "bold"), _verdict(explanation.verdict)))
    for policy in explanation.policies:
        for asking in _worth_telling(policy):
            console.print(_block(policy, asking))
    for line in explanation.denial.splitlines():
        _print(console, Text(f"denied: {line}", style="bold red"))
    for warning in explanation.warnings:
        _print(console, Text(f"warning: {warning}", style="yellow"))
    _print(console, Text(f"nodes before: {_where(subject.before, subject.node_count)}"))
    if subject.before is not None:
        denied = "none: it is denied" if subject.after is None else _where(subject.after, subject.node_count)
        _print(console, Text(f"nodes after:  {denied}"))
    _print(console, Text.assemble("verdict: ", _verdict(explanation.verdict)))


def _print(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=not console.file.isatty())


def _verdict(verdict: str) -> Text:
    return Text(verdict, style={"denied": "bold red", "mutated": "bold green"}.get(verdict, "bold"))


def _where(reach: Reach | None, known: int) -> str:
    if reach is None:
        return "not known; give --topology"
    text = f"{len(reach.nodes)} of {known}{_named(reach.nodes)}"
    return f"{text}; prefers {len(reach.preferred)}{_named(reach.preferred)}" if reach.preferred else text


def _named(nodes: Sequence[str]) -> str:
    left = len(nodes) - _MOST_NODES
    return f" ({', '.join(nodes[:_MOST_NODES])}{f' and {left} more' if left > 0 else ''})" if nodes else ""


def _worth_telling(policy: Explained) -> Iterator[Asking]:
    """Yield the reviews of a policy; where it was passed over in both for the same reason, once."""
    told: list[Asking] = []
    for asking in policy.askings:
        if not any(_same(asking, each) for each in told):
            told.append(asking)
            yield asking


def _same(one: Asking, other: Asking) -> bool:
    answers = [[(each.path, each.answer) for each in asking.expressions] for asking in (one, other)]
    return not one.matched and not other.matched and one.why == other.why and answers[0] == answers[1]


def _block(policy: Explained, asking: Asking) -> Tree:
    title = Text(policy.policy, style="bold")
    title.append(f"  /{asking.phase}  ", style="dim")
    title.append(*(("applies", "green") if asking.matched else (f"does not apply: {asking.why}", "yellow")))
    tree = Tree(title, guide_style="dim")
    for name in asking.params:
        tree.add(Text(f"params: {name}"))
    for expression in (*asking.expressions, *asking.variables):
        _add(tree, expression)
    for written in asking.written:
        change = tree.add(Text.assemble((f"{written.mutation} writes: ", "green"), written.reason))
        for operation in written.patch:
            value = "" if operation["op"] == "remove" else _json(operation.get("value"))
            change.add(_Line(f"{operation['op']} {operation['path']}", Text(value), " "))
    for decision in asking.decisions:
        if decision.action != "mutate":
            style = _ACTIONS.get(decision.action, "")
            tree.add(Text.assemble((f"{decision.action}: ", style), decision.message))
    return tree


def _add(tree: Tree, expression: Evaluated) -> None:
    """Add an expression: its place and value, and below it its text and parts."""
    branch = tree.add(_Line(_label(expression.path), _shown(expression.answer)))
    if expression.tree is not None:
        _add_part(branch, expression.tree)


def _label(path: str) -> str:
    return path.removeprefix("spec.").removesuffix(".expression")


def _add_part(tree: Tree, part: Traced) -> None:
    if not part.asked:
        tree.add(_Line(part.text, Text("not asked", style="dim"), "  "))
        return
    branch = tree.add(_Line(part.text, _shown(part.answer)))
    for each in part.parts:
        _add_part(branch, each)
    for element in part.elements:
        branch.add(_Line(f"of {_json(element.element)}", _shown(element.answer)))
    if part.more:
        branch.add(Text(f"and {part.more} more", style="dim"))


def _shown(answer: Answer) -> Text:
    if answer.error:
        return Text(f"no value: {answer.error}", style="red")
    style = _STYLES.get(answer.value, "cyan") if isinstance(answer.value, bool) else "cyan"
    return Text(_json(answer.value), style=style)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


class _Line:
    """A text and its value on one line: what is too long is cut, and of both something is always seen."""

    def __init__(self, text: str, value: Text, between: str = " = ") -> None:
        self.text = " ".join(text.split())
        self.value = value
        self.between = between

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - len(self.between)
        value = self.value.copy()
        value.truncate(max(_NARROWEST_VALUE, room // 2, room - len(self.text)), overflow="ellipsis")
        text = Text(self.text)
        text.truncate(max(room - value.cell_len, 1), overflow="ellipsis")
        yield Text.assemble(text, self.between, value, no_wrap=True, overflow="ellipsis")


