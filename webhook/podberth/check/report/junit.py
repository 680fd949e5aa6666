"""The report as JUnit XML for Jenkins, GitLab, Azure and CircleCI; ``podberth test`` uses ``document`` too.

The elements and the order of the elements follow Jenkins' schema (jenkinsci/xunit-plugin, junit-10.xsd). The attributes
``file`` and ``line`` of a case are not in the schema, but GitLab and CircleCI make links of the attributes. A case has
at most one ``failure``, because GitLab reads only one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias
from xml.etree import ElementTree as ET

from ..result import Finding, Report, Result
from .results import STDIN, by_file, heading, place, reasons, sentence, shown, title
from .styled_lines import inert, visible

Outcome: TypeAlias = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JunitCase:
    """A test case in JUnit's format. If the case failed, ``kind`` is the failure's type, and ``text`` says why."""

    file: str
    line: int
    """The line in the file, counted from 1; 0 if no line is known."""
    name: str
    outcome: Outcome = "passed"
    message: str = ""
    kind: str = "podberth"
    text: str = ""
    output: str = ""
    """Further output of the case, which is shown whether or not the case passed."""
    seconds: float = 0
    """The time of the case; 0 if nobody measured it."""


def document(name: str, cases: Sequence[JunitCase]) -> str:
    """Return the cases as JUnit XML: one suite for each file, in the order of the cases."""
    root = ET.Element("testsuites", {"name": _text(name), **_counts(cases)})
    for file in dict.fromkeys(case.file for case in cases):
        own = [case for case in cases if case.file == file]
        suite = ET.SubElement(root, "testsuite", {"name": _text(shown(file)), **_counts(own)})
        seen: Counter[str] = Counter()
        for case in own:
            seen[case.name] += 1
            # readers distinguish cases by their names alone
            name = case.name if seen[case.name] == 1 else f"{case.name} ({seen[case.name]})"
            suite.append(_element(case, name))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(cases: Sequence[JunitCase]) -> dict[str, str]:
    outcomes = Counter(case.outcome for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(outcomes["failure"]),
        "errors": str(outcomes["error"]),
        "skipped": str(outcomes["skipped"]),
        "time": _time(sum(case.seconds for case in cases)),
    }


def _element(case: JunitCase, name: str) -> ET.Element:
    attributes = {"classname": _text(shown(case.file)), "name": _text(name), "time": _time(case.seconds)}
    if case.file != STDIN:
        attributes["file"] = _text(case.file)
    if case.line:
        attributes["line"] = str(case.line)
    element = ET.Element("testcase", attributes)
    if case.outcome == "skipped":
        ET.SubElement(element, "skipped", {"message": _text(case.message)})
    elif case.outcome != "passed":
        why = {"message": _text(case.message), "type": _text(case.kind)}
        ET.SubElement(element, case.outcome, why).text = _text(case.text)
    if case.output:
        ET.SubElement(element, "system-out").text = _text(case.output)
    return element


def _time(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds else "0"


def _text(text: str) -> str:
    """Return a text without the characters that XML cannot hold (XML 1.0, production 2) or that are unsafe to print."""
    return inert(visible(text, keep="\n\t"))


_OUTCOMES: dict[str, Outcome] = {"denied": "failure", "error": "error", "skipped": "skipped"}


def render(report: Report) -> str:
    """Return the report as JUnit XML."""
    return document("podberth check", [_case(each) for results in by_file(report).values() for each in results])


def _case(result: Result) -> JunitCase:
    outcome = _OUTCOMES.get(result.verdict, "passed")
    lines = [f"warning: {_located(result, each)}" for each in result.warnings]
    lines += [f"changed: {policy}: {reason}" for policy, reason in reasons(result)]
    lines += [f"note: {_located(result, each)}" for each in result.notes]
    findings: tuple[Finding, ...] = {"failure": result.denials, "error": result.errors}.get(outcome, ())
    message = sentence(findings[0]) if findings else result.verdict
    if outcome == "skipped":
        message = next((each.message for each in (*result.warnings, *result.notes)), heading(result))
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return JunitCase(
        file=result.file,
        line=result.line,
        name=title(result),
        outcome=outcome,
        message=message + more,
        kind=findings[0].policy if findings and findings[0].policy else "podberth",
        text="\n".join(_located(result, each) for each in findings),
        output="\n".join(lines),
        seconds=result.seconds,
    )


def _located(result: Result, finding: Finding) -> str:
    return f"{place(result.file, finding.line)}: {sentence(finding)}"
