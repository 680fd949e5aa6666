"""``podberth lint``: static analysis of policies."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from .. import __version__
from ..files.library import APIS, own_or_served
from ..files.loading import LintFiles, find_policies
from ..lint.findings import Level
from ..lint.runner import LintReport, lint
from . import lint_report
from .access import add_cluster_files, add_output, add_quiet, cluster_files_of
from .exitcodes import ExitCode
from .output import talk, write, write_text
from .simulated import add_topology, facts_of
from .watch import add_watch, files_of_cluster, watched

LEVELS = {str(level): level for level in sorted(Level, reverse=True)}
"""The levels of findings by the names that the flags have for them."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the files, the flag for the cluster's nodes and the flags for the output of ``podberth lint``."""
    parser.epilog = (
        "Exit code 0: nothing of --fail-on or above; 1: a finding; 2: a file or flag is wrong. "
        "Example: podberth lint policies --level note. More: podberth docs lint"
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        type=Path,
        help="policy files, and directories that are read recursively (default: ./policies if policies are there, else "
        "those that podberth ships)",
    )
    add_rules(parser)
    add_output(parser, ("text", "line", "json", "sarif", "github"))
    parser.add_argument(
        "--fail-on",
        choices=LEVELS,
        default="warning",
        help="the lowest level that makes the exit code 1 (default warning)",
    )
    add_quiet(parser, "text: only findings")
    parser.add_argument("--costs", action="store_true", help="text: print the cost of each expression, too")
    add_watch(parser)


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the flags that decide what lint rules find and show: the files about a cluster, and the lowest level."""
    add_topology(
        parser, "a file or directory with what kubectl get nodes,configmaps -o yaml prints, for the rules about nodes"
    )
    add_cluster_files(parser)
    parser.add_argument(
        "--level", choices=LEVELS, default="warning", help="the lowest level that is shown (default warning)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check the policies and print the findings of ``--level`` and above; return the exit code."""
    if not arguments.paths:
        arguments.paths = [own_or_served()]
        talk([] if arguments.quiet else [f"linting the policies in {arguments.paths[0]}"])
    return watched(arguments, (*arguments.paths, *files_of_cluster(arguments)), lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    files = find_policies(arguments.paths)
    if not any(api in text for _, text in files.policies for api in APIS):
        talk(
            [f"none of these files has a policy; podberth check {' '.join(map(str, arguments.paths))} judges manifests"]
        )
    facts = facts_of(arguments)
    described = cluster_files_of(arguments)
    report = _asked(
        lint(
            files.policies,
            described.environment(),
            tests=files.tests,
            nodes=None if facts is None else facts.nodes,
            conventions=described.names(),
        ),
        files,
    )
    level = LEVELS[arguments.level]
    if arguments.output == "text":
        from .terminal import Terminal  # noqa: PLC0415 - what is not printed is not loaded

        write(
            lambda stream: lint_report.show(
                report, level, Terminal.of(stream), costs=arguments.costs, quiet=arguments.quiet
            ),
            "",
        )
    elif arguments.output in ("line", "github"):
        render = lint_report.as_lines if arguments.output == "line" else lint_report.as_github
        write_text(render(report, level))
    else:
        sarif = arguments.output == "sarif"
        document = lint_report.as_sarif(report, level, __version__) if sarif else lint_report.as_json(report, level)
        write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return ExitCode.FINDINGS if report.at_least(LEVELS[arguments.fail_on]) else ExitCode.OK


def _asked(report: LintReport, files: LintFiles) -> LintReport:
    """Return the report with only the findings about the files that the user named.

    podberth also reads the other files of a directory, because policies may depend on them.
    """
    return replace(
        report,
        findings=tuple(each for each in report.findings if each.problem.file in files.asked),
        costs=tuple(each for each in report.costs if each.policy.parsed.file in files.asked),
        policies=tuple(file for file in report.policies if file in files.asked),
    )
