"""``podberth test``: the suites that stand beside policies, run as the cluster would."""

import argparse
from pathlib import Path

from ..cel.engine import Environment
from ..cluster.files import SuiteFiles, find_suites
from ..errors import PolicyError, Problem, UsageError
from ..kube.schema import PodSchema
from ..policy.parse import parse_policies
from ..suite.model import parse_suite
from ..suite.runner import SuiteResult, run_suite
from .exitcodes import ExitCode

_ENGINES = ("cpp", "python", "both")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the directory and the engine."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        default="policies",
        help="where policies and, beside them, their tests.yaml are, read recursively (default policies)",
    )
    parser.add_argument(
        "--engine",
        choices=_ENGINES,
        default="cpp",
        help="cpp: as the server decides; both: every expression on cel-python too, and a difference is a finding; "
        "python: cel-python decides (default cpp)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run every suite; print a line for each, and its findings."""
    suites = find_suites(Path(arguments.directory))
    if not suites:
        print(f"{arguments.directory}: got no tests.yaml, want one beside each policy")  # noqa: T201 - the output
        return ExitCode.FINDINGS
    engines = _Engines(arguments.engine)
    findings = sum(_run(suite, engines) for suite in suites)
    for line in engines.told():
        print(line)  # noqa: T201 - the output
    return ExitCode.FINDINGS if findings else ExitCode.OK


class _Engines:
    """The environment that suites run in, and what came of comparing."""

    def __init__(self, engine: str) -> None:
        schema = PodSchema.packaged()
        self._comparing = None
        self.environment: Environment
        if engine == "cpp":
            self.environment = Environment(schema)
            return
        try:
            from ..cel.compare import ComparingEnvironment  # noqa: PLC0415 - the extra is not there for the server
        except ModuleNotFoundError as error:
            raise UsageError(
                f"--engine: got {engine}, and cel-python is not installed; do pip install 'podberth[test]'"
            ) from error
        self.environment = self._comparing = ComparingEnvironment(schema, second_decides=engine == "python")

    def differences(self, file: str) -> list[Problem]:
        """Return what the engines did not agree on since this was asked last."""
        if self._comparing is None:
            return []
        found = [Problem(file, 0, 0, "", str(each)) for each in self._comparing.differences]
        self._comparing.differences.clear()
        return found

    def told(self) -> list[str]:
        """Return how much was compared, and which known differences were met."""
        if self._comparing is None:
            return []
        from ..cel.compare import KNOWN  # noqa: PLC0415 - as above

        met = [row for row in KNOWN if row.name in self._comparing.explained]
        lines = [f"  {self._comparing.explained[row.name]} {row.name}: {row.why} ({row.issue})" for row in met]
        explained = sum(self._comparing.explained.values())
        return [f"{self._comparing.agreed} evaluations agree on both engines, {explained} differ as known", *lines]


def _run(files: SuiteFiles, engines: _Engines) -> int:
    """Run one suite and print what came of it; return the number of findings."""
    suite, problems = parse_suite(files.suite[1], files.suite[0])
    findings = [*files.problems, *problems]
    result = SuiteResult(files.suite[0], ())
    if suite is not None and not files.problems:
        try:
            result = run_suite(suite, parse_policies(files.policies), engines.environment)
        except PolicyError as error:
            findings += error.problems
        findings += [*result.violations, *engines.differences(files.suite[0])]
    print(f"{'FAIL' if findings else 'ok  '} {files.suite[0]}: {len(result.cases)} cases")  # noqa: T201 - the output
    for finding in findings:
        print(f"  {finding}")  # noqa: T201 - the output
    return len(findings)
