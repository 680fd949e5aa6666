"""The results of ``podberth test``, and their output: text, JSON, JUnit XML, or commands of a GitHub Actions workflow.

The JSON's format is versioned.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

from ..check.report import github
from ..check.report.difference import difference
from ..check.report.junit import JunitCase, document
from ..check.report.styled_lines import Line, Span
from ..errors import Problem
from ..suite.case_file import Suite
from ..suite.coverage import Covered, percent
from ..suite.runner import CaseResult, SuiteResult
from ..words import counted
from .problem_output import command, fields_of, one_line

if TYPE_CHECKING:
    from .terminal import Terminal

VERSION: Final = 1
"""The version of the format that ``podberth test -o json`` prints. Each incompatible change raises the version."""

_MILLISECOND = 1000
_SIGNS = {"+": "green", "-": "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A policy's cost in microseconds: the upper bound from compilation, and the highest cost measured in a review."""

    policy: str
    bound_microseconds: float
    measured_microseconds: float
    evaluations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The result of running one test suite, including the problems of the policies in the suite's folder."""

    file: str
    suite: Suite | None
    result: SuiteResult
    findings: tuple[Problem, ...]
    """The problems of the suite's file and of the policies. Expectations that the policies do not meet are in the
    results of the cases."""
    covered: tuple[Covered, ...]
    costs: tuple[Cost, ...]
    updated: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the suite or the tested policies have any problem."""
        return bool(self.findings or self.result.violations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """The results of one run of ``podberth test``, over all suites."""

    tested: tuple[Tested, ...]
    wrong: tuple[str, ...]
    """The problems of the run as a whole, which belong to no suite."""
    coverage: float | None
    """The coverage (``suite.coverage``) of all suites together, in percent; None if not requested."""
    with_cost: bool
    quiet: bool = False
    """Whether the text leaves out the suites without a finding."""

    @property
    def failed(self) -> bool:
        """Whether any suite failed or the run has a problem."""
        return bool(self.wrong) or any(each.failed for each in self.tested)


def show(tests: Tests, terminal: "Terminal") -> None:
    """Print a line for each suite with the suite's findings below, then coverage and costs if requested."""
    terminal.put(_lines(tests))
    if tests.with_cost:
        terminal.line()
        rows = [("policy", "at most", "measured", "evaluations")]
        rows += [
            (each.policy, _time(each.bound_microseconds), _time(each.measured_microseconds), str(each.evaluations))
            for tested in tests.tested
            for each in tested.costs
        ]
        terminal.table(rows)


def _lines(tests: Tests) -> Iterator[Line]:
    """Yield the lines of the results, and of the coverage if measured, but not of the costs."""
    for tested in tests.tested:
        if tested.failed or tested.updated or not tests.quiet:
            yield from _suite_lines(tested)
    if tests.coverage is not None:
        yield from _coverage_lines(tests)
    for wrong in tests.wrong:
        yield Line((Span(wrong, "red"),))


def _suite_lines(tested: Tested) -> Iterator[Line]:
    sign = Span("FAIL", "bold red") if tested.failed else Span("ok  ", "green")
    cases = "its cases cannot be read" if tested.suite is None else counted(len(tested.result.cases), "case")
    yield Line((sign, Span(f" {tested.file}: {cases}")), hanging=5)
    for finding in tested.findings:
        yield Line((Span("  "), Span(str(finding))), hanging=4)
    for case in tested.result.cases:
        for violation in case.violations:
            yield Line((Span("  "), Span(str(violation))), hanging=4)
        for line in _difference(case):
            yield Line((Span("    "), Span(line, _SIGNS.get(line[0], "dim"))), hanging=6)
    for path in tested.updated:
        yield Line((Span("  updated: ", "yellow"), Span(path)), hanging=4)


def _difference(case: CaseResult) -> list[str]:
    """Return the lines that show how the pod of a case differs from the case's golden file."""
    return [] if case.golden is None else difference(case.golden, case.pod)


def _coverage_lines(tests: Tests) -> Iterator[Line]:
    yield Line(())
    for tested in tests.tested:
        for row in tested.covered:
            if row.place.message:
                source = " ".join(row.source.split())
                yield Line((Span(f"{row.place}"), Span(f": {source}", "dim")), hanging=2)
    for tested in tests.tested:
        for policy in dict.fromkeys(row.policy for row in tested.covered):
            rows = [row for row in tested.covered if row.policy == policy]
            yield Line((Span(f"coverage of {policy}: {percent(rows):.1f}% of {len(rows)} expressions"),))
    yield Line((Span(f"coverage: {tests.coverage:.1f}%", "bold"),))


def _time(microseconds: float) -> str:
    return f"{microseconds:.0f} us" if microseconds < _MILLISECOND else f"{microseconds / _MILLISECOND:.1f} ms"


def _as_text(tests: Tests) -> str:
    """Return the results as text without colours and without wrapped lines: a line for each finding."""
    from .terminal import PIPED_COLUMNS, Terminal  # noqa: PLC0415 - a table's library is not loaded for machines

    text = StringIO()
    show(tests, Terminal(text, colour=False, width=PIPED_COLUMNS, wraps=False))
    return text.getvalue()


def _as_json(tests: Tests) -> str:
    """Return the results as JSON."""
    cases = [case for tested in tests.tested for case in tested.result.cases]
    fields: dict[str, Any] = {
        "version": VERSION,
        "summary": {
            "suites": len(tests.tested),
            "cases": len(cases),
            "failedCases": sum(bool(case.violations) for case in cases),
            "findings": sum(len(each.findings) for each in tests.tested) + len(tests.wrong),
            "passed": not tests.failed,
        },
        "suites": [_suite(each) for each in tests.tested],
        "findings": list(tests.wrong),
    }
    if tests.coverage is not None:
        rows = [_covered(row) for each in tests.tested for row in each.covered]
        fields["coverage"] = {"percent": round(tests.coverage, 2), "expressions": rows}
    if tests.with_cost:
        fields["costs"] = [
            {
                "policy": each.policy,
                "boundMicroseconds": round(each.bound_microseconds, 1),
                "measuredMicroseconds": round(each.measured_microseconds, 1),
                "evaluations": each.evaluations,
            }
            for tested in tests.tested
            for each in tested.costs
        ]
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def _suite(tested: Tested) -> dict[str, Any]:
    return {
        "file": tested.file,
        "passed": not tested.failed,
        "findings": [fields_of(each) for each in tested.findings],
        "updated": list(tested.updated),
        "cases": [_case(tested, case) for case in tested.result.cases],
    }


def _case(tested: Tested, case: CaseResult) -> dict[str, Any]:
    return {
        "name": case.name,
        "line": _line(tested, case),
        "verdict": case.verdict,
        "warnings": list(case.warnings),
        "denial": case.denial,
        "findings": [fields_of(each) for each in case.violations],
        "difference": _difference(case),
    }


def _line(tested: Tested, case: CaseResult) -> int:
    return 0 if tested.suite is None else tested.suite.source.positions.at(("cases", case.index)).line


def _covered(row: Covered) -> dict[str, Any]:
    values = {} if row.values is None else {"values": sorted(row.values)}
    missing = {"missing": row.place.message} if row.place.message else {}
    place = {"file": row.place.file, "line": row.place.line, "field": row.place.where}
    return {"policy": row.policy, **place, "times": row.times, **values, **missing}


def _as_junit(tests: Tests) -> str:
    """Return the results as JUnit XML: a suite for each file, with an extra case for problems that no case has."""
    cases = [case for tested in tests.tested for case in _junit_cases(tested)]
    cases += [
        JunitCase(file="podberth test", line=0, name=each, outcome="failure", message=each) for each in tests.wrong
    ]
    return document("podberth test", cases)


def _junit_cases(tested: Tested) -> Iterator[JunitCase]:
    if tested.findings:
        yield _failed(tested.file, 0, "the files beside it", tested.findings, [])
    for case in tested.result.cases:
        line = _line(tested, case)
        if case.violations:
            failed = _failed(tested.file, line, case.name, case.violations, _difference(case))
            yield replace(failed, seconds=case.seconds)
        else:
            output = "\n".join(case.warnings)
            yield JunitCase(file=tested.file, line=line, name=case.name, output=output, seconds=case.seconds)


def _failed(file: str, line: int, name: str, problems: tuple[Problem, ...], more: list[str]) -> JunitCase:
    return JunitCase(
        file=file,
        line=line,
        name=name,
        outcome="failure",
        message=problems[0].message,
        text="\n".join([*map(str, problems), *more]),
    )


def _findings(tests: Tests) -> Iterator[tuple[str, Problem, str]]:
    """Yield (case, finding, file of the suite) for each finding of a suite; the case is "" for one of no case."""
    for tested in tests.tested:
        yield from (("", each, tested.file) for each in tested.findings)
    for tested in tests.tested:
        for case in tested.result.cases:
            yield from ((case.name, each, tested.file) for each in case.violations)


def _as_lines(tests: Tests) -> str:
    """Return a line for each finding: ``FILE:LINE:COLUMN: error: CASE: FIELD: MESSAGE``."""
    lines = [one_line(each, "error", case, file) for case, each, file in _findings(tests)]
    return "".join(f"{line}\n" for line in [*lines, *(f"podberth test: error: {each}" for each in tests.wrong)])


def _as_github(tests: Tests) -> str:
    """Return a GitHub workflow command for each finding, shown at the finding's line, and a line with the counts."""
    lines = [command("error", case or "podberth test", each, file) for case, each, file in _findings(tests)]
    lines += [github.command("error", each, title="podberth test") for each in tests.wrong]
    cases = sum(len(each.result.cases) for each in tests.tested)
    found = counted(len(lines), "finding") if lines else "no findings"
    counts = f"podberth test: {counted(cases, 'case')} in {counted(len(tests.tested), 'suite')}, {found}"
    return "".join(f"{line}\n" for line in [*lines, counts])


FORMATS: Final[Mapping[str, Callable[[Tests], str]]] = {
    "text": _as_text,
    "line": _as_lines,
    "json": _as_json,
    "junit": _as_junit,
    "github": _as_github,
}
"""The output formats of ``podberth test``; the first format is the default."""
