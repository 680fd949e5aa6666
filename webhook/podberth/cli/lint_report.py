"""The findings of ``podberth lint`` for machines: JSON, SARIF 2.1.0 and commands of a GitHub Actions workflow."""

from typing import Any, Final

from ..check.report.github import escaped, escaped_property
from ..check.report.lines import visible
from ..check.report.results import number
from ..check.report.sarif import SCHEMA, digest, uri
from ..kube.positions import render_path
from ..lint.costs import ExpressionCost
from ..lint.model import Finding, Level
from ..lint.rules import RULES
from ..lint.runner import SUPPRESSION, Report

VERSION: Final = 1
"""The version of the JSON. It grows when a reader of the old form would misread the new one."""
_FINGERPRINT: Final = "podberthLint/v1"
_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def as_json(report: Report, level: Level) -> dict[str, Any]:
    """Return the report for ``-o json``; costs are those of all expressions, findings those of the level."""
    return {
        "version": VERSION,
        "summary": {
            "policies": len(report.policies),
            **{f"{each}s": report.count(each) for each in sorted(Level, reverse=True)},
            "silenced": report.silenced,
        },
        "findings": [_finding(each) for each in report.at_least(level)],
        "expressions": [_cost(each) for each in report.costs],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    problem = finding.problem
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "level": str(finding.level),
        "rule": finding.rule,
        "field": problem.where,
        "message": problem.message,
    }


def _cost(cost: ExpressionCost) -> dict[str, Any]:
    position = cost.policy.parsed.positions.at(cost.path)
    return {
        "policy": cost.policy.name,
        "file": cost.policy.parsed.file,
        "line": position.line,
        "field": render_path(cost.path),
        "cost": cost.cost_class,
        "microseconds": round(cost.microseconds, 1),
    }


def as_sarif(report: Report, level: Level, version: str) -> dict[str, Any]:
    """Return the findings as a SARIF log; every rule is described, with or without findings."""
    rules = [
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
    numbers = {str(rule["id"]): number for number, rule in enumerate(rules)}
    seen: dict[str, int] = {}
    run = {
        "tool": {"driver": {"name": "podberth lint", "version": version, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, numbers[each.rule], seen) for each in report.at_least(level)],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, number: int, seen: dict[str, int]) -> dict[str, Any]:
    problem = finding.problem
    location: dict[str, Any] = {"artifactLocation": {"uri": uri(problem.file)}}
    if problem.line:
        location["region"] = {"startLine": problem.line, "startColumn": problem.column}
    # Without the line: a finding stays the same when lines above it are added or removed
    own = digest(finding.rule, problem.file, problem.where, problem.message)
    seen[own] = seen.get(own, 0) + 1
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": str(finding.level),
        "message": {"text": visible(f"{problem.where}: {problem.message}" if problem.where else problem.message)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {_FINGERPRINT: f"{own}:{seen[own]}"},
    }


def as_github(report: Report, level: Level) -> str:
    """Return a command for each finding, the most severe first (GitHub shows ten of each kind); then the counts."""
    findings = sorted(report.at_least(level), key=lambda each: -each.level)
    return "".join(f"{line}\n" for line in [*map(_command, findings), f"podberth lint: {summary(report)}"])


def _command(finding: Finding) -> str:
    problem = finding.problem
    properties = {
        "file": problem.file.removeprefix("./"),
        "line": str(problem.line or ""),
        "col": str(problem.column or ""),
        "title": finding.rule,
    }
    listed = ",".join(f"{key}={escaped_property(value)}" for key, value in properties.items() if value)
    about = f"{problem.where}: " if problem.where else ""
    return f"::{_COMMANDS[finding.level]} {listed}::{escaped(about + problem.message)}"


def summary(report: Report) -> str:
    """Return the counts in one line."""
    counts = [(report.count(level), str(level)) for level in sorted(Level, reverse=True)]
    found = ", ".join(number(count, what) for count, what in counts if count) or "nothing found"
    count = len(report.policies)
    policies = "1 policy" if count == 1 else f"{count} policies"
    return f"{policies}: {found}" + (f"; {report.silenced} silenced" if report.silenced else "")
