"""The report as JUnit XML: a suite per file, a case per pod template."""

from ..model import Finding, Report, Result
from .junit_document import Case, Outcome, document
from .results import by_file, place, reasons, sentence, title

_OUTCOMES: dict[str, Outcome] = {"denied": "failure", "error": "error", "skipped": "skipped"}


def render(report: Report) -> str:
    """Return the document."""
    return document("podberth check", [_case(each) for results in by_file(report).values() for each in results])


def _case(result: Result) -> Case:
    outcome = _OUTCOMES.get(result.verdict, "passed")
    lines = [f"warning: {_located(result, each)}" for each in result.warnings]
    lines += [f"changed: {policy}: {reason}" for policy, reason in reasons(result)]
    lines += [f"note: {_located(result, each)}" for each in result.notes]
    findings: tuple[Finding, ...] = {"failure": result.denials, "error": result.errors}.get(outcome, ())
    message = sentence(findings[0]) if findings else result.verdict
    if outcome == "skipped":
        message = result.warnings[0].message if result.warnings else f"{result.kind or 'this'} makes no pods"
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return Case(
        file=result.file,
        line=result.line,
        name=title(result),
        outcome=outcome,
        message=message + more,
        kind=findings[0].policy if findings and findings[0].policy else "podberth",
        text="\n".join(_located(result, each) for each in findings),
        output="\n".join(lines),
    )


def _located(result: Result, finding: Finding) -> str:
    return f"{place(result.file, finding.line)}: {sentence(finding)}"
