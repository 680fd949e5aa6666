"""The output of ``podberth lint``: text, JSON, SARIF 2.1.0, or commands of a GitHub Actions workflow."""

from typing import TYPE_CHECKING, Any, Final

from ..check.report.sarif import digest, located, log
from ..check.report.styled_lines import Span, visible
from ..kube.positions import render_path
from ..lint.costs import ExpressionCost
from ..lint.findings import Level, LintFinding
from ..lint.rules import RULES
from ..lint.runner import SUPPRESSION, LintReport
from ..words import counted
from .problem_output import command, fields_of, one_line

if TYPE_CHECKING:
    from .terminal import Terminal

VERSION: Final = 1
"""The version of the format that ``podberth lint -o json`` prints. Each incompatible change raises the version."""
_FINGERPRINT: Final = "podberthLint/v1"
_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}

_STYLES = {Level.ERROR: "bold red", Level.WARNING: "bold yellow", Level.NOTE: "bold blue"}
_INDENT = "  "


def show(report: LintReport, level: Level, terminal: "Terminal", *, costs: bool, quiet: bool) -> None:
    """Print the findings of ``level`` and above, the costs if ``costs`` is true, and the counts if not ``quiet``."""
    for finding in report.at_least(level):
        _show(finding, terminal)
    if costs:
        _costs(report.costs, terminal)
        terminal.line()
    if quiet:
        return
    hidden = len(report.findings) - len(report.at_least(level))
    more = f" (not shown: {hidden}; --level note shows all)" if hidden else ""
    grave = max((finding.level for finding in report.findings), default=Level.NOTE)
    terminal.paragraph(f"{summary(report)}{more}", _STYLES[grave] if grave > Level.NOTE else "bold")


def _show(finding: LintFinding, terminal: "Terminal") -> None:
    problem = finding.problem
    head = (Span(problem.place, "cyan"), Span(" "), Span(str(finding.level), _STYLES[finding.level]), Span(" "))
    terminal.paragraph(finding.rule, "bold", first=head, hanging=len(_INDENT))
    about = (Span(_INDENT), Span(f"{problem.where}: ", "dim")) if problem.where else (Span(_INDENT),)
    terminal.paragraph(problem.message, first=about, hanging=len(_INDENT))


def _costs(costs: tuple[ExpressionCost, ...], terminal: "Terminal") -> None:
    """Print the costs of the expensive expressions, the highest first; cheap expressions are only counted."""
    shown = sorted((each for each in costs if each.cost_class != "cheap"), key=lambda each: -each.cost.microseconds)
    rows = [("AT MOST", "CLASS", "POLICY", "EXPRESSION")]
    rows += [
        (f"{each.cost.microseconds / 1000:.0f} ms", each.cost_class, each.policy.name, render_path(each.path[1:]))
        for each in shown
    ]
    if shown:
        terminal.table(rows)
    terminal.paragraph(f"{len(costs) - len(shown)} expressions are cheap: below 1 ms, on the largest pod")


def as_json(report: LintReport, level: Level) -> dict[str, Any]:
    """Return the JSON of ``-o json``: the findings of ``level`` and above, and the costs of all expressions."""
    return {
        "version": VERSION,
        "summary": {
            "policies": len(report.policies),
            **{f"{each}s": report.count(each) for each in sorted(Level, reverse=True)},
            "silenced": report.silenced,
        },
        "findings": [
            {**fields_of(each.problem), "level": str(each.level), "rule": each.rule} for each in report.at_least(level)
        ],
        "expressions": [_cost(each) for each in report.costs],
    }


def _cost(cost: ExpressionCost) -> dict[str, Any]:
    position = cost.policy.parsed.positions.at(cost.path)
    return {
        "policy": cost.policy.name,
        "file": cost.policy.parsed.file,
        "line": position.line,
        "field": render_path(cost.path),
        "cost": cost.cost_class,
        "microseconds": round(cost.cost.microseconds, 1),
    }


def as_sarif(report: LintReport, level: Level, version: str) -> dict[str, Any]:
    """Return the findings of ``level`` and above as a SARIF log, which describes every rule."""
    rules: list[dict[str, Any]] = [
        {
            "id": rule.name,
            "name": rule.name,
            "shortDescription": {"text": rule.manual.partition("\n")[0]},
            "help": {"text": rule.manual, "markdown": rule.manual},
            "defaultConfiguration": {"level": str(rule.level)},
        }
        for rule in RULES
    ]
    rules.append(
        {"id": SUPPRESSION, "name": SUPPRESSION, "shortDescription": {"text": "A comment that suppresses nothing."}}
    )
    return log("podberth lint", version, rules, map(_result, report.at_least(level)))


def _result(finding: LintFinding) -> dict[str, Any]:
    problem = finding.problem
    location = located(problem.file, {"startLine": problem.line, "startColumn": problem.column})
    return {
        "ruleId": finding.rule,
        "level": str(finding.level),
        "message": {"text": visible(f"{problem.where}: {problem.message}" if problem.where else problem.message)},
        "locations": [{"physicalLocation": location}],
        # Without the line: a finding stays the same when lines above it are added or removed
        "partialFingerprints": {_FINGERPRINT: digest(finding.rule, problem.file, problem.where, problem.message)},
    }


def as_lines(report: LintReport, level: Level) -> str:
    """Return a line for each finding of ``level`` and above: ``FILE:LINE:COLUMN: LEVEL: RULE: FIELD: MESSAGE``."""
    return "".join(f"{one_line(each.problem, str(each.level), each.rule)}\n" for each in report.at_least(level))


def as_github(report: LintReport, level: Level) -> str:
    """Return a GitHub workflow command for each finding of ``level`` and above, and a last line with the counts.

    The most severe findings come first, because GitHub shows only ten.
    """
    findings = sorted(report.at_least(level), key=lambda each: -each.level)
    commands = [command(_COMMANDS[each.level], each.rule, each.problem) for each in findings]
    return "".join(f"{line}\n" for line in [*commands, f"podberth lint: {summary(report)}"])


def summary(report: LintReport) -> str:
    """Return a line with the number of findings of each level."""
    counts = [(report.count(level), str(level)) for level in sorted(Level, reverse=True)]
    found = ", ".join(counted(count, what) for count, what in counts if count) or "nothing found"
    return f"{counted(len(report.policies), 'policy')}: {found}" + (
        f"; {report.silenced} silenced" if report.silenced else ""
    )
