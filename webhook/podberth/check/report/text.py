"""The report as text: each result with the difference, the policies behind the changes, and the findings."""

from collections.abc import Iterator, Sequence

from ...kube.json_patch import PatchError
from ...kube.yaml_text import scalar
from ..result import Finding, Report, Result, Verdict
from .difference import difference
from .excerpt import excerpts
from .results import ALL, Shown, place, reasons, skipped, summary, title
from .styled_lines import Line, Span

_VERDICTS: dict[Verdict, str] = {
    "denied": "bold red",
    "error": "bold red",
    "mutated": "bold green",
    "unchanged": "dim",
    "skipped": "dim",
}
_INDENT = "  "
# The width of the labels at the left
_LABEL_WIDTH = 8
_HANGING = len(_INDENT) + _LABEL_WIDTH + 2
_SIGNS = {"+": "green", "-": "red", " ": "dim"}
# The indent of a wrapped line of YAML
_CONTINUED = 4


def lines(report: Report, shown: Shown = ALL) -> Iterator[Line]:
    """Yield the lines of the report; a result of more than one line is between blank lines.

    Documents that are skipped or do not change, and have no message, are only counted, in the last lines.
    """
    open_below = is_first = True
    said: set[tuple[object, ...]] = set()
    for result in shown.of(report):
        detail = list(_detail(result, said))
        if result.verdict in ("skipped", "unchanged") and not detail and not result.wrote:
            continue
        if not is_first and (open_below or detail):
            yield Line(())
        yield _head(result)
        yield from detail
        open_below, is_first = bool(detail), False
    if shown.quiet:
        return
    if not is_first:
        yield Line(())
    grave = report.count("denied") + report.count("error")
    yield Line((Span(summary(report), "bold red" if grave else "bold"),), len(_INDENT))
    for heading, kinds in skipped(report):
        yield Line((Span(f"{heading}: ", "dim"), Span(kinds)), len(f"{heading}: "))


def _head(result: Result) -> Line:
    # The notes have the writes that only admission can make.
    later = " here, changed on admission" if result.changes_later else ""
    verdict = Span(f"{result.verdict}{later}", _VERDICTS[result.verdict])
    style = "bold" if result.verdict not in ("unchanged", "skipped") else ""
    where = Span(f"{place(result.file, result.line)} ", "cyan")
    return Line((where, Span(f"{title(result)}: ", style), verdict), len(_INDENT))


def _detail(result: Result, said: set[tuple[object, ...]]) -> Iterator[Line]:
    """Yield the lines of a result that follow the line with its verdict.

    A finding in ``said`` was printed before, and is shortened; other findings are added to ``said``.
    """
    yield from _difference(result)
    for number, (policy, reason) in enumerate(reasons(result)):
        yield from _labelled(
            "" if number else "why", "dim", (Span(policy, "bold"), Span(f": {reason}" if reason else ""))
        )
    yield from _findings(result, "warns", "yellow", result.warnings, said)
    yield from _findings(result, "denied", "red", result.denials, said)
    yield from _findings(result, "error", "red", result.errors, said)
    yield from _findings(result, "note", "dim", result.notes, said)


def _difference(result: Result) -> Iterator[Line]:
    if not result.changes:
        return
    try:
        documents = excerpts(result)
    except PatchError:  # the report is shown even where a change does not apply
        documents = None
    if documents:
        for line in difference(*documents):
            yield Line(
                (Span(f"{_INDENT}{line}", _SIGNS[line[0]]),),
                len(_INDENT) + len(line) - len(line[1:].lstrip(" ")) + _CONTINUED,
            )
        return
    for each in result.changes:
        sign = "-" if each.op == "remove" else "+"
        value = "" if each.op == "remove" else f": {scalar(each.value)}"
        yield Line((Span(f"{_INDENT}{sign} {each.path}{value}", _SIGNS[sign]),), len(_INDENT) + _CONTINUED)


def _findings(
    result: Result, label: str, style: str, findings: Sequence[Finding], said: set[tuple[object, ...]]
) -> Iterator[Line]:
    printed: set[tuple[str, str, int, str]] = set()
    for each in findings:
        author = (Span(each.policy, "bold"), Span(": ")) if each.policy else ()
        field = _below(result.path, each.field)
        about = f"{field}: " if field else ""
        where = Span(f"{place(result.file, each.line)} ", "cyan")
        key = (result.file, result.kind, result.namespace, result.name, each.policy, each.message)
        text = "as above" if key in said else each.message
        said.add(key)
        line = (each.policy, field, each.line, text)
        if line not in printed:
            printed.add(line)
            yield from _labelled(label, style, (where, *author, Span(f"{about}{text}")))


def _below(template: str, field: str) -> str:
    """Return a field's path relative to the template, which the first line of the result names."""
    below = field.removeprefix(template) if template else ""
    return below.removeprefix(".") if below[:1] in ("", ".", "[") and template else field


def _labelled(label: str, style: str, spans: tuple[Span, ...]) -> Iterator[Line]:
    """Yield the lines of a text after a label; line breaks in the last span are kept."""
    *before, last = spans
    first, *rest = last.text.split("\n")
    yield Line((Span(f"{_INDENT}{label:<{_LABEL_WIDTH}}", style), *before, Span(first, last.style)), _HANGING)
    for text in rest:
        yield Line((Span(" " * _HANGING), Span(text, last.style)), _HANGING)
