"""The results of ``podberth test``, to be printed."""

from dataclasses import dataclass, field

from ..errors import Problem
from ..suite.coverage import Covered
from ..suite.model import Suite
from ..suite.runner import SuiteResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A policy's cost, in microseconds: the bound from compilation, and the suite's most expensive review."""

    policy: str
    bound_microseconds: float
    measured_microseconds: float
    evaluations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """The result of one suite's file."""

    file: str
    suite: Suite | None
    result: SuiteResult
    findings: tuple[Problem, ...]
    """Problems besides the cases' violations: of the file, of the policies."""
    covered: tuple[Covered, ...] = ()
    updated: tuple[str, ...] = ()
    costs: tuple[Cost, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether there is any problem."""
        return bool(self.findings or self.result.violations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """The results of a run."""

    tested: tuple[Tested, ...]
    wrong: tuple[str, ...] = field(default=())
    """The problems of the run as a whole."""
    coverage: float | None = None
    """The percentage of all suites together; None where coverage was not requested."""
    with_cost: bool = False

    @property
    def failed(self) -> bool:
        """Whether there is any problem."""
        return bool(self.wrong) or any(each.failed for each in self.tested)
