"""The command line of ``bench.fleet``: the agents of many simulated machines at once.

It loads a test cluster, or has one to try policies on (bench/README.md, "A fleet of agents").
"""

import argparse
import re
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import get_args

import orjson

from podberth.agent.api_requests import LabelTarget
from podberth.agent.publisher import HEARTBEAT_SECONDS
from podberth.cli.access import add_access, open_api
from podberth.cli.agent import SECONDS
from podberth.cli.exitcodes import ExitCode, code_of
from podberth.errors import PodberthError, UsageError
from podberth.topology.shapes import SHAPES

from .churn import Machine
from .fleet import Fleet, Plan

# Of one shape; clusters are built for 5,000 nodes (https://kubernetes.io/docs/setup/best-practices/cluster-large/).
_MOST_MACHINES = 100_000
# As many requests as one core of Python keeps busy; the API server's own default is 400 at once.
_WORKERS = 16
_MACHINES = re.compile(r"(?P<shape>[a-z0-9-]+)=(?P<count>[1-9]\d{0,5})")


def main(argv: Sequence[str]) -> int:
    """Run a command line; return podberth's own exit codes."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__, allow_abbrev=False)
    configure(parser)
    try:
        return run(parser.parse_args(argv))
    except PodberthError as error:
        print(f"bench.fleet: {error}", file=sys.stderr)
        return code_of(error)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add = parser.add_argument
    add("machines", metavar="SHAPE=COUNT", nargs="+", help=f"the machines; shapes: {', '.join(SHAPES)}")
    add("--prefix", metavar="TEXT", default="", help="in front of the nodes' names, which are SHAPE-NUMBER")
    add("--create-nodes", action="store_true", help="create the Nodes that are not there")
    add("--changes", metavar="RATE", type=_rate, default=0.0, help="a second, on all machines together (default 0)")
    add("--seed", metavar="NUMBER", type=int, default=0, help="of the random changes (default 0)")
    add(
        "--heartbeat",
        metavar="SECONDS",
        type=SECONDS,
        default=HEARTBEAT_SECONDS,
        help=f"as of podberth agent (default {HEARTBEAT_SECONDS:g})",
    )
    add(
        "--ramp",
        metavar="SECONDS",
        type=SECONDS,
        default=None,
        help="over which the machines come up (default: at once)",
    )
    add(
        "--for", dest="length", metavar="SECONDS", type=SECONDS, default=None, help="end after so long (default: never)"
    )
    add("--labels", choices=get_args(LabelTarget), help="as of podberth agent")
    add("--workers", metavar="COUNT", type=int, default=_WORKERS, help=f"requests at once (default {_WORKERS})")
    add_access(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the fleet until a signal ends it, and print its counts."""
    if not 1 <= arguments.workers <= 1000:  # noqa: PLR2004 - one connection and thread each
        raise UsageError(f"--workers: got {arguments.workers}, want 1 to 1000")
    plan = Plan(
        machines=[machine for text in arguments.machines for machine in _machines(text, arguments.prefix)],
        heartbeat_seconds=arguments.heartbeat,
        ramp_seconds=arguments.ramp or 0.0,
        changes_a_second=arguments.changes,
        create_nodes=arguments.create_nodes,
        labels=arguments.labels,
        seed=arguments.seed,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(open_api(arguments, connections=arguments.workers)) as api:
        fleet = Fleet(plan, api.send, workers=arguments.workers)
        ends_at = time.monotonic() + arguments.length if arguments.length else None
        with suppress(KeyboardInterrupt):
            fleet.run(lambda: ends_at is not None and time.monotonic() >= ends_at)
    for line in sorted(set(fleet.troubles.values()))[:10]:
        print(f"bench.fleet: {line}", file=sys.stderr)
    report = {"machines": len(plan.machines), "published": fleet.settled, **fleet.tally.as_document()}
    sys.stdout.write(orjson.dumps(report).decode() + "\n")
    return ExitCode.OK if fleet.settled == len(plan.machines) else ExitCode.CLUSTER


def _machines(text: str, prefix: str) -> list[Machine]:
    found = _MACHINES.fullmatch(text)
    if found is None or found["shape"] not in SHAPES or int(found["count"]) > _MOST_MACHINES:
        raise UsageError(f"SHAPE=COUNT: got {text!r}, want a shape of {', '.join(SHAPES)} and how many, as in l4-1=20")
    return [Machine(f"{prefix}{found['shape']}-{number}", found["shape"]) for number in range(int(found["count"]))]


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1000:  # noqa: PLR2004 - more than one process can write; nan is neither
        raise argparse.ArgumentTypeError(f"got {text!r}, want changes a second from 0 to 1000")
    return rate
