"""The output of ``podberth lint`` for people: each finding under its place, and the cost of expressions."""

from ..check.report.lines import Span
from ..kube.positions import render_path
from ..lint.costs import ExpressionCost
from ..lint.model import Finding, Level
from ..lint.runner import Report
from .lint_report import summary
from .terminal import Terminal

_STYLES = {Level.ERROR: "bold red", Level.WARNING: "bold yellow", Level.NOTE: "bold blue"}
_INDENT = "  "


def show(report: Report, level: Level, terminal: Terminal, *, costs: bool) -> None:
    """Print the findings of a level and above, the costs if wanted, and the counts."""
    for finding in report.at_least(level):
        _show(finding, terminal)
    if costs:
        _costs(report.costs, terminal)
        terminal.line()
    hidden = len(report.findings) - len(report.at_least(level))
    more = f" (not shown: {hidden}; --level note shows all)" if hidden else ""
    grave = max((finding.level for finding in report.findings), default=Level.NOTE)
    terminal.paragraph(f"{summary(report)}{more}", _STYLES[grave] if grave > Level.NOTE else "bold")


def _show(finding: Finding, terminal: Terminal) -> None:
    problem = finding.problem
    place = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    head = (Span(place, "cyan"), Span(" "), Span(str(finding.level), _STYLES[finding.level]), Span(" "))
    terminal.paragraph(finding.rule, "bold", first=head, hanging=len(_INDENT))
    about = (Span(_INDENT), Span(f"{problem.where}: ", "dim")) if problem.where else (Span(_INDENT),)
    terminal.paragraph(problem.message, first=about, hanging=len(_INDENT))


def _costs(costs: tuple[ExpressionCost, ...], terminal: Terminal) -> None:
    """Print the most expensive first; cheap expressions are only counted."""
    shown = sorted((cost for cost in costs if cost.cost_class != "cheap"), key=lambda cost: -cost.microseconds)
    rows = [("AT MOST", "CLASS", "POLICY", "EXPRESSION")]
    rows += [
        (f"{cost.microseconds / 1000:.0f} ms", cost.cost_class, cost.policy.name, render_path(cost.path[1:]))
        for cost in shown
    ]
    if shown:
        terminal.table(rows)
    terminal.paragraph(f"{len(costs) - len(shown)} expressions are cheap: below 1 ms, on the largest pod")
