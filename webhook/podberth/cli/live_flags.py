"""The flags of ``podberth check`` for live workloads. ``check_live`` makes the check, which needs far more imports."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..check.live_workloads import SUPPOSITIONS
from ..checking.run import Policies, policies_in
from ..errors import UsageError
from ..files.library import folders, own
from .access import add_kubeconfig, counted

OF_CLUSTER: Final = "cluster"
"""The value of --policies that means the GPUPolicies in the cluster; ``./cluster`` is the directory of that name."""


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
    if OF_CLUSTER in arguments.policies and not arguments.cluster:
        alone.append("--policies cluster")
    if alone:
        raise UsageError(f"check: got {', '.join(alone)} without --cluster, want both")
    asked = {"--user": arguments.user, "--group": arguments.group, "--authorizer": arguments.authorizer}
    if not arguments.paths and (of_paths := [name for name, value in asked.items() if value]):
        raise UsageError(f"check: got {', '.join(of_paths)} without PATH, want both: live workloads have their users")
    if len(arguments.policies) != len(set(arguments.policies)):
        raise UsageError(f"--policies: got {' and '.join(arguments.policies)}, want each once")
    if arguments.report and arguments.judged_as:
        raise UsageError("check: got --report and --as, want one of them: reports are about the present policies")
    if arguments.all_namespaces and arguments.namespace:
        raise UsageError(f"check: got -A and --namespace {arguments.namespace}, want one of them")
    return not arguments.paths


def policies_of(values: Sequence[str], *, or_own: bool = True) -> Policies:
    """Return the policies of files in the values of --policies; if there are none, those that podberth ships.

    With ``or_own``, the folder ``./policies`` takes the place of these if it has policies.

    Raises:
        UsageError: the policies that podberth ships are not installed.
    """
    named = [each for each in values if each != OF_CLUSTER]
    mine = None if named or not or_own else own()
    return replace(policies_in(*(folders(named) or (mine,))), alone=mine is not None)
