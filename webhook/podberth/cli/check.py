"""``podberth check``: decides on manifests or live workloads with the same code as the webhook."""

import argparse
import gc
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from .. import words
from ..admission.creation import DEFAULT_NAMESPACE
from ..check.other_files import only_unexpanded
from ..check.report.results import Shown
from ..check.result import Report
from ..check.run import CheckSettings
from ..checking.run import CheckRequest, Done, run_check
from ..errors import UsageError
from ..files.library import SHIPPED
from ..files.manifests import find_manifests
from . import live_flags
from .access import (
    SUGGESTED,
    add_cluster_files,
    add_outputs,
    add_quiet,
    add_requester,
    cluster_files_of,
    counted,
    outputs_of,
    requester_of,
)
from .exitcodes import ExitCode
from .formats import FORMATS, write
from .output import talk
from .simulated import add_topology, facts_of

_FAIL_ON: Final = ("deny", "warn", "change")
_FORMATS: Final = tuple(each.name for each in FORMATS)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the paths and the flags of ``podberth check``."""
    parser.epilog = (
        "Exit code 0: nothing is denied, and nothing of --fail-on was found; 1: something is; "
        "2: a file, a flag or a policy is wrong; 3: the cluster did not answer. "
        "Example: podberth check --simulate hgx-h100-8:2 manifests/. More: podberth docs check"
    )
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="*", help="a manifest, a directory of them, or - for standard input")
    live_flags.configure(parser)
    policies = add(
        "--policies",
        metavar="DIR",
        action="append",
        default=[],
        help="a directory or file of policies, or the word shipped; repeatable (default: ./policies if policies are "
        "there, else shipped). "
        "With --cluster also the word cluster: its GPUPolicies over those of DIR; name both (default: those that "
        "podberth ships, and cluster)",
    )
    SUGGESTED[policies] = (SHIPPED, live_flags.OF_CLUSTER)
    add_topology(
        parser,
        "a file or directory of what kubectl get nodes,configmaps -o yaml prints (default: no node is known; "
        "with --against the nodes of the snapshot, with --cluster those of the cluster)",
    )
    add_cluster_files(parser)
    add_requester(parser)
    add(
        "--namespace",
        metavar="NAME",
        help="for documents that name none (default default); with --cluster the only one whose workloads are checked",
    )
    add(
        "--template-path",
        metavar="KIND=PATH",
        action="append",
        default=[],
        help="the place of another kind's pod templates, as in Flow=spec.steps[*].template; repeatable",
    )
    add(
        "--fail-on",
        choices=_FAIL_ON,
        action="append",
        help="results besides a denial that make the exit code 1: a warning, a change; repeatable (default deny)",
    )
    add_outputs(parser, _FORMATS)
    add_quiet(parser, "text and line: only denials, errors and warnings")
    add("--show-record", action="store_true", help="text: podberth's record of the changes on the pod, too")
    add(
        "--jobs",
        metavar="N",
        type=counted("processes"),
        help="the number of processes (default: from 1,000 files on, one for each processor)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check everything that the arguments name, write every output, and return the exit code."""
    gc.disable()  # a check's objects live to its end; collecting garbage would take a fifth of the time
    try:
        return _run(arguments)
    finally:
        gc.enable()


def _run(arguments: argparse.Namespace) -> ExitCode:
    outputs = outputs_of(arguments.output, _FORMATS)
    settings = CheckSettings(
        namespace=arguments.namespace or DEFAULT_NAMESPACE,
        template_paths=_template_paths(arguments.template_path),
        requester=requester_of(arguments),
        clock=time.perf_counter,
    )
    if live_flags.wanted(arguments):
        from . import check_live  # noqa: PLC0415 - its asyncio and API are 5 % of a check of one manifest

        done, complete = check_live.run(arguments, settings, [name for name, _ in outputs])
        code = _write_all(done, outputs, arguments, ())
        return code if complete else ExitCode.CLUSTER
    listing = find_manifests(arguments.paths)
    done = run_check(
        CheckRequest(
            listing=listing,
            settings=settings,
            policies=live_flags.policies_of(arguments.policies),
            objects=facts_of(arguments),
            cluster_files=cluster_files_of(arguments),
            jobs=arguments.jobs,
            sources=any(each.sources for each in FORMATS if each.name in dict(outputs)),
            as_if=arguments.judged_as,
        ),
        sys.stdin.buffer,
    )
    done = replace(done, talk=(*done.talk, *_unused(settings.template_paths, done)))
    return _write_all(done, outputs, arguments, listing.empty)


def _unused(paths: Iterable[str], done: Done) -> Iterator[str]:
    """Yield a warning for each kind in the values of --template-path that is in none of the files."""
    met = {result.kind for result in done.report.results}
    for kind in paths:
        if kind not in met and not any(kind in text for text in done.texts.values()):
            yield f"--template-path {kind}: no document is of this kind; check its spelling"


def _write_all(
    done: Done, outputs: Sequence[tuple[str, str]], arguments: argparse.Namespace, empty: Sequence[str]
) -> ExitCode:
    """Write the messages and the outputs of a check, and return the exit code.

    ``empty`` are the directories that have no manifests.
    """
    notes = () if arguments.quiet else done.notes
    done = replace(done, shown=Shown(record=arguments.show_record, quiet=arguments.quiet))
    talk((*notes, *done.talk, *(f"{path}: got no manifest, want .yaml, .yml or .json files" for path in empty)))
    for name, file in outputs:
        write(name, done, file)
    if only_unexpanded(done.report):
        talk(["nothing was checked; expand the templates first"])
        return ExitCode.USAGE
    if empty or done.broken_policies:
        return ExitCode.USAGE
    if arguments.report and not arguments.fail_on:  # the reports hold the findings
        return ExitCode.OK
    changed = done.report.count("mutated")
    if changed and "change" in (arguments.fail_on or ()):
        talk([f"--fail-on change: {words.counted(changed, 'pod template')} would be changed"])
    return _code(done.report, arguments.fail_on or ())


def _code(report: Report, fail_on: Sequence[str]) -> ExitCode:
    if report.count("error"):
        return ExitCode.USAGE
    failing = {
        "deny": bool(report.count("denied")),
        "warn": any(result.warnings for result in report.results),
        "change": bool(report.count("mutated")),
    }
    return ExitCode.FINDINGS if any(failing[each] for each in {"deny", *fail_on}) else ExitCode.OK


def _template_paths(given: Sequence[str]) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for each in given:
        kind, _, path = each.partition("=")
        steps = tuple(step for step in path.replace("[*]", ".*").split(".") if step)
        if not kind or not steps:
            raise UsageError(f"--template-path: got {each!r}, want KIND=PATH, as in Flow=spec.steps[*].template")
        found.setdefault(kind, []).append(steps)
    return found
