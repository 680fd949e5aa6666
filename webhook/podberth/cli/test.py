"""``podberth test``: runs the test suites beside policies, with the code that decides on pods in the cluster."""

import argparse
import re
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from timeit import repeat

from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import EvaluationError, PolicyError, Problem, UsageError
from ..files.library import own_or_served
from ..files.loading import SuiteFiles, find_suites
from ..kube.edit import edited
from ..lint.findings import Linted
from ..native.documents import others_of
from ..policy.parse import ParsedPolicies, parse_policies
from ..suite.case_file import Case, parse_suite
from ..suite.coverage import Covered, Observed, Observer, coverage, percent
from ..suite.natives import SuiteNatives
from ..suite.runner import SuiteResult, SuiteSettings, run_suite, unmatched
from ..suite.update import update_of
from .access import add_cluster_files, add_outputs, add_quiet, cluster_files_of, number, outputs_of
from .exitcodes import ExitCode
from .output import talk, write_text
from .test_report import FORMATS, Cost, Tested, Tests, show
from .watch import add_watch, files_of_cluster, watched

# Evaluations of each expression for its time: enough to measure, few enough to wait for.
_ROUNDS = 20
_NO_POLICY = "got no policy in this folder or below it, want the policies that the suite is about; move it beside them"

_ONLY_GANGS = "; of the pods in scope only one of a gang that asks for no GPUs can make it so, such as a launcher"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the directory, the selection of cases and the flags for the output of ``podberth test``."""
    parser.epilog = (
        "Exit code 0: all cases pass; 1: a finding; 2: a flag or directory is wrong. "
        "Example: podberth test policies --coverage. More: podberth docs testing"
    )
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        help="where policies and, beside them, their tests.yaml are, read recursively (default: ./policies if policies "
        "are there, else those that podberth ships)",
    )
    parser.add_argument("--run", metavar="REGEX", type=_pattern, help="run the cases whose name matches this")
    parser.add_argument(
        "--update",
        action="store_true",
        help="write the actual results into golden files and, where another expectation was given, into tests.yaml",
    )
    add_cluster_files(parser)
    add_outputs(parser, tuple(FORMATS))
    add_quiet(parser, "text: only suites with findings")
    parser.add_argument("--coverage", action="store_true", help="report the expressions that no case has evaluated")
    parser.add_argument(
        "--min-coverage",
        metavar="PERCENT",
        type=number(0, 100, "a number from 0 to 100"),
        help="a lower coverage is a finding; implies --coverage",
    )
    add_watch(parser)
    parser.add_argument("--cost", action="store_true", help="report each policy's cost bound, and its longest review")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"got {text!r}, want a regular expression: {error}") from error


def run(arguments: argparse.Namespace) -> int:
    """Run every test suite, write the results in each output format that the user wants, and return the exit code."""
    outputs_of(arguments.output, tuple(FORMATS))  # a wrong flag ends the command, also with --watch
    if arguments.directory is None:
        arguments.directory = own_or_served()
        talk([] if arguments.quiet else [f"testing the policies in {arguments.directory}"])
    return watched(arguments, (arguments.directory, *files_of_cluster(arguments)), lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    wants_coverage = arguments.coverage or arguments.min_coverage is not None
    outputs = outputs_of(arguments.output, tuple(FORMATS))
    suites = find_suites(arguments.directory)
    files = cluster_files_of(arguments)
    runner = _SuiteRunner(files.environment(), files.names(), arguments, wants_coverage)
    tested = tuple(runner.run(suite) for suite in suites)
    covered = percent(row for each in tested for row in each.covered) if wants_coverage else None
    wrong = _wrong(arguments, tested, covered)
    tests = Tests(tested=tested, wrong=tuple(wrong), coverage=covered, with_cost=arguments.cost, quiet=arguments.quiet)
    for name, file in outputs:
        _write(name, file, tests)
    return ExitCode.FINDINGS if tests.failed else ExitCode.OK


def _wrong(arguments: argparse.Namespace, tested: tuple[Tested, ...], covered: float | None) -> list[str]:
    wrong = []
    if not tested:
        wrong.append(f"{arguments.directory}: got no tests.yaml, want one beside each policy")
    elif arguments.run is not None and not any(each.result.cases for each in tested):
        wrong.append(f"--run: got {arguments.run.pattern!r}, which is in no case's name")
    if covered is not None and arguments.min_coverage is not None and covered < arguments.min_coverage:
        wrong.append(f"coverage: got {covered:.1f}%, want {arguments.min_coverage:g}% at least")
    return wrong


def _write(name: str, file: str, tests: Tests) -> None:
    if name == "text" and not file and sys.stdout.isatty():
        from .terminal import Terminal  # noqa: PLC0415 - a table's library is not loaded for machines

        show(tests, Terminal.of(sys.stdout))
        return
    write_text(FORMATS[name](tests), file)


@dataclass(frozen=True, slots=True)
class _SuiteRunner:
    """Runs test suites, each against the policies in the suite's folder."""

    environment: Environment
    conventions: Conventions
    arguments: argparse.Namespace
    wants_coverage: bool

    def run(self, files: SuiteFiles) -> Tested:
        """Run one test suite and return the result.

        With --update, new expectations, if any, are first written to the suite, and the suite is run again.
        """
        tested = self._run(files)
        if not self.arguments.update or tested.suite is None:
            return tested
        written, problems = _updated(files, tested)
        if written:
            again = next(each for each in find_suites(Path(files.suite[0]).parent) if each.suite[0] == files.suite[0])
            tested = replace(self._run(again), updated=written)
        return replace(tested, findings=(*tested.findings, *problems))

    def _run(self, files: SuiteFiles) -> Tested:
        file, text = files.suite
        suite, problems = parse_suite(text, file)
        findings = [*files.problems, *problems]
        result, observer = SuiteResult(()), Observer(keep_answers=self.wants_coverage or self.arguments.cost)
        parsed, natives = ParsedPolicies(), None
        if suite is not None and not files.problems:
            parsed = parse_policies(files.policies, others_of(files.policies))
            if not (parsed.policies or parsed.namespaced or parsed.others or parsed.problems):
                findings.append(Problem(file, 0, 0, "", _NO_POLICY))
            if parsed.others:
                natives = SuiteNatives(suite, parsed, self.environment, observer)
                findings += natives.judge.problems
            goldens = {Path(name).name: golden for name, golden in files.goldens}
            settings = SuiteSettings(
                goldens, self._selected, datetime.now(UTC), self.conventions, natives, clock=time.perf_counter
            )
            try:
                result = run_suite(suite, parsed, self.environment, settings, observer)
            except PolicyError as error:
                findings += error.problems
            else:
                if self.arguments.run is None and not files.across:
                    findings += (*unmatched(parsed, observer), *(natives.unmatched() if natives else ()))
        return Tested(
            file=file,
            suite=suite,
            result=result,
            findings=tuple(findings),
            covered=self._coverage(observer, parsed, natives),
            costs=_costs(observer) if self.arguments.cost else (),
        )

    def _coverage(
        self, observer: Observer, parsed: ParsedPolicies, natives: SuiteNatives | None
    ) -> tuple[Covered, ...]:
        if not self.wants_coverage:
            return ()
        of_natives = natives.coverage() if natives else ()
        of_policies = coverage(observer, parsed.policies, self.environment)
        linted = {
            each.policy.name: Linted(
                parsed=each, compiled=observer.policies[each.policy.name], environment=self.environment
            )
            for each in parsed.policies
            if each.policy.name in observer.policies
        }
        return (*(_with_advice(row, linted[row.policy]) for row in of_policies), *of_natives)

    def _selected(self, case: Case) -> bool:
        return self.arguments.run is None or self.arguments.run.search(case.name) is not None


def _with_advice(row: Covered, policy: Linted) -> Covered:
    """Return the coverage of an expression; if only gangs make a matchCondition false, its message says so."""
    is_condition = row.place.where.startswith("spec.matchConditions[")
    if (
        not is_condition
        or row.values != frozenset({True})
        or policy.conditions.can_fail_without_gang(policy.tree(row.source))
    ):
        return row
    message = f"{row.place.message}{_ONLY_GANGS}"
    return replace(row, place=replace(row.place, message=message))


def _updated(files: SuiteFiles, tested: Tested) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Write the new expectations of a suite; return the changes for the user, and the problems.

    A change is the path of an expectation in the suite, or the name of a golden file.
    """
    assert tested.suite is not None  # noqa: S101 - the caller has seen to it
    update = update_of(tested.suite, tested.result)
    file, text = files.suite
    written = list(update.changes)
    new, problems = edited(text, file, [(tested.suite.source, update.operations)] if update.operations else [])
    try:
        if new != text:
            Path(file).write_text(new, encoding="utf-8")
        for name, golden in update.goldens.items():
            (Path(file).parent / name).write_text(golden, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--update: {error.filename}: cannot be written: {error.strerror}") from error
    if problems:
        written = list(update.goldens)
    return tuple(written), tuple(problems)


def _costs(observer: Observer) -> tuple[Cost, ...]:
    """Return the cost of each policy: the bound of the time for one review, and the longest measured time of a review.

    A review is all evaluations of one compiled policy in one case. A policy without evaluations has a measured time of
    0.
    """
    reviews: dict[str, dict[int, list[Observed]]] = {}
    for each in observer.answers:
        reviews.setdefault(each.policy.name, {}).setdefault(id(each.policy), []).append(each)
    return tuple(
        Cost(
            policy=name,
            bound_microseconds=policy.cost_microseconds,
            measured_microseconds=max((_seconds(each) for each in reviews.get(name, {}).values()), default=0.0) * 1e6,
            evaluations=sum(map(len, reviews.get(name, {}).values())),
        )
        for name, policy in observer.policies.items()
    )


def _seconds(observed: list[Observed]) -> float:
    """Return the seconds for evaluating all ``observed`` expressions once: the shortest of several such rounds."""

    def evaluate() -> None:
        for each in observed:
            try:
                each.expression.evaluate(each.activation)
            except EvaluationError:
                continue

    return min(repeat(evaluate, number=1, repeat=_ROUNDS))
