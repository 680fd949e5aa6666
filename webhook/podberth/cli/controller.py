"""``podberth controller``: creates and connects the parts of the controller.

The controller makes the objects that pods wait for: the groups of gangs, and claim templates.
"""

import argparse
import asyncio
import logging
import signal
import socket
from contextlib import AsyncExitStack
from functools import partial
from uuid import uuid4

import uvloop

from ..api.election import Election
from ..api.opening import Kubeconfig, client_class
from ..api.protocol import Timing
from ..api.reflector import ClusterAccess, run_together
from ..cluster.events import Events
from ..cluster.layered_policies import LayeredPolicies
from ..cluster.live_policies import LivePolicies
from ..controller.declared_templates import Declared
from ..controller.floor import Floor
from ..controller.loop import Acting
from ..controller.observed import ObservedCluster
from ..controller.requests import Requests
from ..conventions import Conventions
from ..files.loading import PolicyFiles
from ..files.naming import read_conventions
from ..kube.schema import PodSchema
from ..probes import ProbePort
from ..settings import Address
from ..telemetry.controller_metrics import ControllerMetrics
from ..telemetry.log import LibraryHandler, Log, standard_output
from ..telemetry.metrics import EventMetrics
from .access import add_conventions, add_kubeconfig, address, kubeconfig_of, number, path
from .exitcodes import ExitCode

CONTROLLER = "podberth.io/controller"
"""The field ``reportingController`` in the Events of ``podberth controller``."""
_LISTEN = Address("", 8080)
# A gang's owner and its group come within a second of each other; a person who forgot the group is informed soon.
_PATIENCE_SECONDS = 60.0
_LONGEST_PATIENCE_SECONDS = 3600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``podberth controller``."""
    add_kubeconfig(parser)
    add = parser.add_argument
    add(
        "--metrics-listen",
        metavar="HOST:PORT",
        type=address,
        default=_LISTEN,
        help=f"serve /livez, /readyz and /metrics there (default :{_LISTEN.port})",
    )
    add(
        "--policies",
        metavar="DIR",
        type=path,
        help="make the claim templates of these policies, too, as serve reads them (default: those of GPUPolicies)",
    )
    add(
        "--missing-after",
        metavar="SECONDS",
        type=number(1, _LONGEST_PATIENCE_SECONDS, f"seconds from 1 to {_LONGEST_PATIENCE_SECONDS:g}"),
        default=_PATIENCE_SECONDS,
        help=f"how long a pod waits for its group or template before an Event reports (default {_PATIENCE_SECONDS:g})",
    )
    add("--floor", action="store_true", help="keep the params of the floor: of native policies for outages")
    add_conventions(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run as leader or as standby until a signal arrives, and return the exit code."""
    kubeconfig, conventions = kubeconfig_of(arguments), read_conventions(arguments.conventions)
    writer = standard_output()
    log = Log(writer)
    logging.getLogger().addHandler(LibraryHandler(log))
    try:
        uvloop.run(_control(arguments, kubeconfig, conventions, log))
    finally:
        writer.close()
    return ExitCode.OK


async def _control(
    arguments: argparse.Namespace, kubeconfig: Kubeconfig | None, conventions: Conventions, log: Log
) -> None:
    timing, make = Timing(), client_class("podberth controller")
    connect = partial(make, kubeconfig, timing)
    stop = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    host, metrics, wake = socket.gethostname(), ControllerMetrics(), asyncio.Event()
    # As client-go advises: two replicas may be on one host, and a restarted container is another candidate.
    election = Election(connect(), f"{host}_{uuid4().hex[:8]}", log)
    access = ClusterAccess(connect, metrics, log, timing)
    sight = ObservedCluster(access, wake.set)
    counted = EventMetrics(metrics.registry)
    events = Events(connect(), host, counted, log, timing=timing, controller=CONTROLLER)
    requests = Requests(connect())
    acting = Acting(sight, requests, events.publish, wake, timing, arguments.missing_after, metrics, log)
    files = None if arguments.policies is None else PolicyFiles(arguments.policies)
    declared = Declared(LayeredPolicies(files, conventions, PodSchema.packaged()), sight.declare, log)
    policies = LivePolicies(declared.take, access)
    floors = [Floor(access, conventions)] if arguments.floor else []
    followers = [*sight.followers, policies, *(one for each in floors for one in each.followers)]
    metrics.ask(
        leads=lambda: election.leads,
        waiting=sight.in_groups,
        watched=lambda: {name: facts for each in followers for name, facts in each.watched().items()},
        kinds=lambda: {name: state for each in followers for name, state in each.states().items()},
    )

    async def lead() -> None:
        await run_together([acting.act(), *(each.act() for each in floors)])

    def unready() -> list[str]:
        unlisted = [name for each in followers for name in each.unlisted()]
        reasons = [f"{resource} of the cluster are not listed" for resource in unlisted]
        reasons += [] if declared.loaded else ["the policies are not loaded"]
        return reasons if election.answered else [*reasons, "the Lease is not known"]

    async with AsyncExitStack() as stack:
        probes = ProbePort(unready, metrics.exposition)
        listening_at = probes.start(arguments.metrics_listen)
        stack.push_async_callback(probes.stop)
        stack.push_async_callback(events.finish, asyncio.create_task(events.run()))
        log.event("info", "controller", metrics=list(listening_at), missing_after=arguments.missing_after)
        following = run_together([declared.run(), *(each.run() for each in followers)])
        tasks = [asyncio.create_task(following), asyncio.create_task(election.run(lead))]
        await _until(stop, tasks)
        log.event("info", "ended")


async def _until(stop: asyncio.Event, tasks: list[asyncio.Task[None]]) -> None:
    """Wait for the stop signal or the end of a task; then cancel all tasks, one after the other, the last one first.

    The election is the last task, so that a leader releases its Lease while its watches still run.
    """
    asked = asyncio.create_task(stop.wait())
    try:
        ended, _ = await asyncio.wait((asked, *tasks), return_when=asyncio.FIRST_COMPLETED)
        for task in ended - {asked}:
            task.result()
    finally:
        for task in (*reversed(tasks), asked):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
