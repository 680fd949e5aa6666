"""The part of ``podberth check`` that judges live workloads: of a snapshot, or of the cluster itself."""

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

from ..check.live import SUPPOSITIONS
from ..check.run import Settings
from ..cluster.against import LiveRequest, policies_in, read_snapshot, run_live
from ..cluster.checking import Done
from ..errors import UsageError
from .formats import FORMATS


def configure(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    add = parser.add_argument
    add(
        "--against",
        metavar="SNAPSHOT",
        action="append",
        default=[],
        help="instead of manifests: the live workloads in what kubectl get deployments,jobs,pods -A -o yaml prints, "
        "a file, a directory or -; repeatable",
    )
    add(
        "--as",
        dest="judged_as",
        choices=SUPPOSITIONS,
        action="append",
        default=[],
        help="judge as if every policy denied (deny), or had no rollout (rolled-out); repeatable",
    )


def wanted(arguments: argparse.Namespace) -> bool:
    """Say whether live workloads are to be judged.

    Raises:
        UsageError: both are, or nothing is.
    """
    given = [bool(arguments.paths), bool(arguments.against)]
    if sum(given) != 1:
        raise UsageError(f"check: got {_given(arguments) or 'nothing to check'}, want PATH or --against SNAPSHOT")
    return not arguments.paths


def _given(arguments: argparse.Namespace) -> str:
    found = {"PATH": arguments.paths, "--against": arguments.against}
    return " and ".join(name for name, value in found.items() if value)


def run(arguments: argparse.Namespace, settings: Settings, formats: Collection[str]) -> tuple[Done, bool]:
    """Judge them; return what came of it, and whether that is of all of them.

    Raises:
        UsageError: flags that do not go together.
    """
    _refuse(arguments, formats)
    request = LiveRequest(
        settings=settings,
        topology=arguments.topology,
        conventions=arguments.conventions,
        as_if=arguments.judged_as,
    )
    directory = Path(arguments.policies) if arguments.policies else None
    gathered = read_snapshot(arguments.against, sys.stdin.buffer)
    return run_live(request, policies_in(directory), gathered), True


def _refuse(arguments: argparse.Namespace, formats: Collection[str]) -> None:
    for each in FORMATS:
        if each.of_manifests and each.name in formats:
            raise UsageError(
                f"-o: got {each.name} for live workloads, want a format without manifests, as text or json"
            )
    if arguments.jobs > 1:
        raise UsageError(f"--jobs: got {arguments.jobs} for live workloads, want 1")
