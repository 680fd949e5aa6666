"""The report as JUnit XML, as Jenkins, GitLab, Azure and CircleCI read it: a suite per file, a case per pod template.

Elements and their order are those of Jenkins' schema (jenkinsci/xunit-plugin, junit-10.xsd); ``file`` and ``line`` of a
case, which it does not know, are what GitLab and CircleCI link. One ``failure`` per case: GitLab reads no more.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from ..model import Finding, Report, Result
from .lines import inert, visible
from .results import STDIN, by_file, place, reasons, sentence, shown, title


def render(report: Report) -> str:
    """Return the document."""
    root = ET.Element("testsuites", {"name": "podberth check", **_counts(report.results)})
    for file, results in by_file(report).items():
        suite = ET.SubElement(root, "testsuite", {"name": _text(shown(file)), **_counts(results)})
        seen: dict[str, int] = {}
        for result in results:
            suite.append(_case(result, seen))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(results: Sequence[Result]) -> dict[str, str]:
    verdicts = [result.verdict for result in results]
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("denied")),
        "errors": str(verdicts.count("error")),
        "skipped": str(verdicts.count("skipped")),
        "time": "0",
    }


def _case(result: Result, seen: dict[str, int]) -> ET.Element:
    name = title(result)
    seen[name] = seen.get(name, 0) + 1
    if seen[name] > 1:  # readers tell cases apart by their names alone
        name = f"{name} ({seen[name]})"
    attributes = {"classname": _text(shown(result.file)), "name": _text(name), "time": "0"}
    if result.file != STDIN:
        attributes["file"] = _text(result.file)
    if result.line:
        attributes["line"] = str(result.line)
    case = ET.Element("testcase", attributes)
    match result.verdict:
        case "skipped":
            said = result.warnings[0].message if result.warnings else f"{result.kind or 'this'} makes no pods"
            ET.SubElement(case, "skipped", {"message": _text(said)})
        case "error":
            _add(case, "error", result, result.errors)
        case "denied":
            _add(case, "failure", result, result.denials)
        case _:
            pass
    told = [f"warning: {_located(result, each)}" for each in result.warnings]
    told += [f"changed: {policy}: {reason}" for policy, reason in reasons(result)]
    told += [f"note: {_located(result, each)}" for each in result.notes]
    if told:
        ET.SubElement(case, "system-out").text = _text("\n".join(told))
    return case


def _add(case: ET.Element, tag: str, result: Result, findings: Sequence[Finding]) -> None:
    first = sentence(findings[0]) if findings else result.verdict
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    kind = findings[0].policy if findings and findings[0].policy else "podberth"
    element = ET.SubElement(case, tag, {"message": _text(first + more), "type": _text(kind)})
    element.text = _text("\n".join(_located(result, each) for each in findings))


def _located(result: Result, finding: Finding) -> str:
    return f"{place(result.file, finding.line)}: {sentence(finding)}"


def _text(text: str) -> str:
    """Return text that XML can hold (XML 1.0, production 2), and that is safe to print."""
    return inert(visible(text, keep="\n\t"))
