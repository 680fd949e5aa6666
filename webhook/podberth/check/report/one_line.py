"""The report as one line for each finding and each changed template, for grep and other programs of lines."""

from collections.abc import Iterator

from ..result import Report, Result
from .results import ALL, Shown, place, reasons, sentence, title
from .styled_lines import inert, visible


def render(report: Report, shown: Shown = ALL) -> str:
    """Return the lines, in the report's order: ``FILE:LINE: denied: OBJECT: POLICY: FIELD: MESSAGE``.

    Documents without a finding that do not change have no line.
    """
    return "".join(f"{inert(visible(line))}\n" for result in shown.of(report) for line in _lines(result))


def _lines(result: Result) -> Iterator[str]:
    for what, findings in (
        ("denied", result.denials),
        ("error", result.errors),
        ("warning", result.warnings),
        ("note", result.notes),
    ):
        for each in findings:
            yield f"{place(result.file, each.line or result.line)}: {what}: {title(result)}: {sentence(each)}"
    if result.changes:
        said = "; ".join(f"{policy}: {reason}" if reason else policy for policy, reason in reasons(result))
        yield f"{place(result.file, result.line)}: mutated: {title(result)}: {said}"
