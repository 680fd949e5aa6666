"""``podberth status``: prints the state of podberth in a cluster on one screen, and what needs attention."""

import argparse
import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ..check.report.styled_lines import Line, Span
from ..checking.let_through import let_through
from ..cluster.installation import read_installation
from ..installation.observation import Row, State, StatusReport
from ..installation.report import judge
from .access import add_kubeconfig, add_output, kubeconfig_of
from .exitcodes import ExitCode
from .output import write, write_text

if TYPE_CHECKING:
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


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``podberth status``."""
    add_kubeconfig(parser)
    add_output(parser)
    parser.epilog = "Exit code 1: something needs attention, or could not be read; each such line begins with ! or ?."


def run(arguments: argparse.Namespace) -> int:
    """Read the cluster's state, print the report and return the exit code."""
    observed = asyncio.run(read_installation(kubeconfig_of(arguments), datetime.now(UTC)))
    report = judge(replace(observed, let_through=let_through(observed)))
    if arguments.output == "json":
        write_text(json.dumps(report.as_json(), indent=2) + "\n")
    else:
        from .terminal import Terminal  # noqa: PLC0415 - what is not asked for is not loaded

        write(lambda stream: show_status(report, Terminal.of(stream)), "")
    return ExitCode.FINDINGS if report.troubles else ExitCode.OK


def show_status(report: StatusReport, terminal: "Terminal") -> None:
    """Print a status report as text."""
    troubles = report.troubles
    said = f"{troubles} {'line needs' if troubles == 1 else 'lines need'} attention" if troubles else "healthy"
    style = "bold red" if troubles else "bold green"
    kubernetes = f" on Kubernetes {report.kubernetes}" if report.kubernetes else ""
    terminal.put([Line((Span(f"podberth{kubernetes}: ", "bold"), Span(said, style)))])
    marks = {state: mark if terminal.has("✓·") else (_PLAIN[state], mark[1]) for state, mark in _MARKS.items()}
    for name, rows in report.sections.items():
        terminal.heading(name)
        terminal.put(_line(row, *marks[row.state]) for row in rows)


def _line(row: Row, mark: str, style: str) -> Line:
    loud = row.state in {"attention", "unread"}
    name = f"{row.name:<{_NAME_COLUMNS}} "
    return Line(
        (Span(f"{mark} ", style), Span(name, "bold" if loud else ""), Span(row.text, style if loud else "")), _HANGING
    )
