"""The results of ``podberth test``, and the output of the results as text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..check.report.difference import difference
from ..check.report.results import number
from ..check.report.styled_lines import Line, Span
from ..errors import Problem
from ..suite.case_file import Suite
from ..suite.coverage import Covered, percent
from ..suite.runner import CaseResult, SuiteResult

if TYPE_CHECKING:
    from .terminal import Terminal

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
    covered: tuple[Covered, ...] = ()
    updated: tuple[str, ...] = ()
    costs: tuple[Cost, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the suite or the tested policies have any problem."""
        return bool(self.findings or self.result.violations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """The results of one run of ``podberth test``, over all suites."""

    tested: tuple[Tested, ...]
    wrong: tuple[str, ...] = field(default=())
    """The problems of the run as a whole, which belong to no suite."""
    coverage: float | None = None
    """The coverage (``suite.coverage``) of all suites together, in percent; None if not requested."""
    with_cost: bool = False

    @property
    def failed(self) -> bool:
        """Whether any suite failed or the run has a problem."""
        return bool(self.wrong) or any(each.failed for each in self.tested)


def show(tests: Tests, terminal: "Terminal") -> None:
    """Print a line for each suite with the suite's findings below, then coverage and costs if requested."""
    terminal.put(lines(tests))
    if tests.with_cost:
        terminal.line()
        rows = [("policy", "at most", "measured", "evaluations")]
        rows += [
            (each.policy, _time(each.bound_microseconds), _time(each.measured_microseconds), str(each.evaluations))
            for tested in tests.tested
            for each in tested.costs
        ]
        terminal.table(rows)


def lines(tests: Tests) -> Iterator[Line]:
    """Yield the lines of the results, and of the coverage if measured, but not of the costs."""
    for tested in tests.tested:
        yield from _suite(tested)
    if tests.coverage is not None:
        yield from _coverage(tests)
    for wrong in tests.wrong:
        yield Line((Span(wrong, "red"),))


def _suite(tested: Tested) -> Iterator[Line]:
    sign = Span("FAIL", "bold red") if tested.failed else Span("ok  ", "green")
    yield Line((sign, Span(f" {tested.file}: {number(len(tested.result.cases), 'case')}")), hanging=5)
    for finding in tested.findings:
        yield Line((Span("  "), Span(str(finding))), hanging=4)
    for case in tested.result.cases:
        for violation in case.violations:
            yield Line((Span("  "), Span(str(violation))), hanging=4)
        for line in difference_of(case):
            yield Line((Span("    "), Span(line, _SIGNS.get(line[0], "dim"))), hanging=6)
    for path in tested.updated:
        yield Line((Span("  updated: ", "yellow"), Span(path)), hanging=4)


def difference_of(case: CaseResult) -> list[str]:
    """Return the lines that show how the pod of a case differs from the case's golden file."""
    return [] if case.golden is None else difference(case.golden, case.pod)


def _coverage(tests: Tests) -> Iterator[Line]:
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
