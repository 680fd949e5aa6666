"""The output of ``podberth test`` as JSON, JUnit XML, GitHub workflow commands and plain text.

The JSON's format is versioned.
"""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any, Final

from ..check.report import github
from ..check.report.junit import JunitCase, document
from ..check.report.results import number
from ..errors import Problem
from ..suite.coverage import Covered
from ..suite.runner import CaseResult
from .problem_output import command, fields_of
from .test_text import Tested, Tests, difference_of, show

VERSION: Final = 1
"""The version of the format that ``podberth test -o json`` prints. Each incompatible change raises the version."""

# Longer than any finding: each finding has one line, for programs and for searches.
_UNWRAPPED = 10_000


def as_text(tests: Tests) -> str:
    """Return the results as text without colours and without wrapped lines: a line for each finding."""
    from .terminal import Terminal  # noqa: PLC0415 - a table's library is not loaded for machines

    text = StringIO()
    show(tests, Terminal(text, colour=False, width=_UNWRAPPED))
    return text.getvalue()


def as_json(tests: Tests) -> str:
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
        "difference": difference_of(case),
    }


def _line(tested: Tested, case: CaseResult) -> int:
    return 0 if tested.suite is None else tested.suite.source.positions.at(("cases", case.index)).line


def _covered(row: Covered) -> dict[str, Any]:
    values = {} if row.values is None else {"values": sorted(row.values)}
    missing = {"missing": row.place.message} if row.place.message else {}
    place = {"file": row.place.file, "line": row.place.line, "field": row.place.where}
    return {"policy": row.policy, **place, "times": row.times, **values, **missing}


def as_junit(tests: Tests) -> str:
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
            yield _failed(tested.file, line, case.name, case.violations, difference_of(case))
        else:
            yield JunitCase(file=tested.file, line=line, name=case.name, output="\n".join(case.warnings))


def _failed(file: str, line: int, name: str, problems: tuple[Problem, ...], more: list[str]) -> JunitCase:
    return JunitCase(
        file=file,
        line=line,
        name=name,
        outcome="failure",
        message=problems[0].message,
        text="\n".join([*map(str, problems), *more]),
    )


def as_github(tests: Tests) -> str:
    """Return a GitHub workflow command for each finding, shown at the finding's line, and a line with the counts."""
    lines = [
        command("error", "podberth test", each, tested.file) for tested in tests.tested for each in tested.findings
    ]
    lines += [
        command("error", case.name, each, tested.file)
        for tested in tests.tested
        for case in tested.result.cases
        for each in case.violations
    ]
    lines += [github.command("error", each, title="podberth test") for each in tests.wrong]
    cases = sum(len(each.result.cases) for each in tests.tested)
    found = number(len(lines), "finding") if lines else "no findings"
    counts = f"podberth test: {number(cases, 'case')} in {number(len(tests.tested), 'suite')}, {found}"
    return "".join(f"{line}\n" for line in [*lines, counts])
