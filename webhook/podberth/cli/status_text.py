"""The output of ``podberth status`` for people: a section for each subject, a mark before each line."""

from typing import Final

from ..check.report.lines import Line, Span
from ..installation.model import Report, Row, State
from .terminal import Terminal

# ASCII where a line needs attention, so that grep finds it in any log.
_MARKS: Final[dict[State, tuple[str, str]]] = {
    "ok": ("✓", "green"),
    "note": ("·", "dim"),
    "attention": ("!", "bold red"),
    "unread": ("?", "bold yellow"),
}
_PLAIN: Final[dict[State, str]] = {"ok": "+", "note": "-", "attention": "!", "unread": "?"}
_NAME_COLUMNS: Final = 12
_HANGING: Final = 2 + _NAME_COLUMNS + 1


def show_status(report: Report, terminal: Terminal) -> None:
    """Write a report."""
    troubles = report.troubles
    said = f"{troubles} {'line needs' if troubles == 1 else 'lines need'} attention" if troubles else "healthy"
    style = "bold red" if troubles else "bold green"
    kubernetes = f" on Kubernetes {report.kubernetes}" if report.kubernetes else ""
    terminal.put([Line((Span(f"podberth{kubernetes}: ", "bold"), Span(said, style)))])
    marks = {state: mark if terminal.has("✓·") else (_PLAIN[state], mark[1]) for state, mark in _MARKS.items()}
    for section in report.sections:
        terminal.heading(section.name)
        terminal.put(_line(row, *marks[row.state]) for row in section.rows)


def _line(row: Row, mark: str, style: str) -> Line:
    loud = row.state in {"attention", "unread"}
    name = f"{row.name:<{_NAME_COLUMNS}} "
    return Line(
        (Span(f"{mark} ", style), Span(name, "bold" if loud else ""), Span(row.text, style if loud else "")), _HANGING
    )
