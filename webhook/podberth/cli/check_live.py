"""The part of ``podberth check`` that checks live workloads, from the output of kubectl or from the API server."""

import argparse
import asyncio
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..check.run import CheckSettings
from ..checking.against import LiveRequest, read_snapshot, run_live
from ..checking.run import Done, Policies, policies_in
from ..errors import ClusterError, UsageError
from .access import kubeconfig_of
from .formats import FORMATS
from .live_flags import OF_CLUSTER, directory_of

if TYPE_CHECKING:
    from ..checking.survey import SurveyedCluster

<<<<<<< HEAD
_OF_CLUSTER: Final = "cluster"
"""The value of --policies that means the cluster's GPUPolicies; a directory of that name is ``./cluster``."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags by which ``podberth check`` checks live workloads instead of manifests."""
    add = parser.add_argument
    add(
        "--against",
        metavar="SNAPSHOT",
        action="append",
        default=[],
        help="check the live workloads in what kubectl get deployments,jobs,pods -A -o json prints instead of "
        "manifests; a file, a directory or -, repeatable",
    )
    add("--cluster", action="store_true", help="check the live workloads of a cluster instead of manifests")
    add_kubeconfig(parser)
    add("-A", "--all-namespaces", action="store_true", help="those of all namespaces (with --cluster, and its default)")
    add("--report", action="store_true", help="write the findings as PolicyReports, too (with --cluster)")
    add(
        "--page",
        metavar="N",
        type=counted("objects"),
        default=500,
        help="objects to list at a time (with --cluster; default 500)",
    )
    add(
        "--as",
        dest="judged_as",
        choices=SUPPOSITIONS,
        action="append",
        default=[],
        help="check as if every policy denied (deny), or had no rollout (rolled-out); repeatable",
    )


def wanted(arguments: argparse.Namespace) -> bool:
    """Return whether the flags ask for a check of live workloads.

    Raises:
        UsageError: flags contradict each other.
    """
    given = {"PATH": arguments.paths, "--against": arguments.against, "--cluster": arguments.cluster}
    named = [name for name, value in given.items() if value]
    if len(named) != 1:
        got = " and ".join(named) or "nothing to check"
        raise UsageError(f"check: got {got}, want one of PATH, --against SNAPSHOT and --cluster")
    flags = {
        "--kubeconfig": arguments.kubeconfig,
        "--context": arguments.context,
        "-A": arguments.all_namespaces,
        "--report": arguments.report,
    }
    alone = [name for name, value in flags.items() if value and not arguments.cluster]
    if _OF_CLUSTER in arguments.policies and not arguments.cluster:
        alone.append("--policies cluster")
    if alone:
        raise UsageError(f"check: got {', '.join(alone)} without --cluster, want both")
    if len(arguments.policies) != len(set(arguments.policies)) or len(_directories(arguments.policies)) > 1:
        got = " and ".join(arguments.policies)
        raise UsageError(f"--policies: got {got}, want one directory, and with --cluster the word cluster")
    if arguments.report and arguments.judged_as:
        raise UsageError("check: got --report and --as, want one of them: reports are about the present policies")
    if arguments.all_namespaces and arguments.namespace:
        raise UsageError(f"check: got -A and --namespace {arguments.namespace}, want one of them")
    return not arguments.paths

=======
>>>>>>> startup

def run(arguments: argparse.Namespace, settings: CheckSettings, formats: Collection[str]) -> tuple[Done, bool]:
    """Check the live workloads, and return the outcome and whether it is complete.

    It is not complete if a kind of objects could not be listed, or a report could not be written.

    Raises:
        UsageError: flags contradict each other.
        ClusterError: the API server does not answer or refuses, or serves no API for the wanted reports.
    """
    _refuse(arguments, formats)
    request = LiveRequest(
        settings=settings,
        topology=arguments.topology,
        conventions=arguments.conventions,
        as_if=arguments.judged_as,
    )
    if not arguments.cluster:
        gathered = read_snapshot(arguments.against, sys.stdin.buffer)
        return run_live(request, policies_in(directory_of(arguments.policies)), gathered), True
    cluster = _cluster(arguments)
    survey = asyncio.run(
        cluster.survey(
            frozenset(settings.template_paths),
            nodes=arguments.topology is None,
            policies=_files(arguments.policies),
            objects=OF_CLUSTER in arguments.policies or not arguments.policies,
            reports=arguments.report,
        )
    )
    done = run_live(request, survey.policies, survey.gathered)
    complete = not survey.gathered.missing
    talk = [*survey.talk, *done.talk]
    if arguments.report and done.broken_policies:
        talk.append("reports: none is written, for a policy of files is broken; fix it")
    elif arguments.report:
        try:
            writer = asyncio.run(cluster.write(done.report))
        except ClusterError as error:  # the findings are shown all the same
            talk.append(f"reports: none is written: {error}")
            complete = False
        else:
            changed = f"{writer.written} written, {writer.removed} removed"
            talk += [f"reports: {changed}, the others unchanged", *writer.refused]
            complete = complete and not writer.refused
    return replace(done, talk=tuple(talk)), complete


def _cluster(arguments: argparse.Namespace) -> "SurveyedCluster":
    from ..checking.survey import SurveyedCluster  # noqa: PLC0415 - 80 ms, for which a check of manifests does not wait

    return SurveyedCluster(
        kubeconfig=kubeconfig_of(arguments),
        namespace=arguments.namespace or "",
        page=arguments.page,
    )


def _files(policies: Sequence[str]) -> Policies:
    """Return the policies of files: none if --policies names nothing but the cluster."""
    if list(policies) == [OF_CLUSTER]:
        return Policies(texts=(), problems=(), where="")
    return policies_in(directory_of(policies))


def _refuse(arguments: argparse.Namespace, formats: Collection[str]) -> None:
    for each in FORMATS:
        if each.of_manifests and each.name in formats:
            raise UsageError(
                f"-o: got {each.name} for live workloads, want a format without manifests, as text or json"
            )
    if (arguments.jobs or 1) > 1:
        raise UsageError(f"--jobs: got {arguments.jobs} for live workloads, want 1")
