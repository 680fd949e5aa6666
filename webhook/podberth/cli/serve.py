"""``podberth serve``: the wiring of the webhook process."""

import argparse
import asyncio
import logging
import os
import signal
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import uvloop

from ..admission import decide
from ..admission.awaited import Awaited
from ..cluster.files import FileSource, read_pod_schema
from ..cluster.follow import LiveCluster, Parts, open_cluster
from ..cluster.kinds import KINDS
from ..cluster.live import LiveTopology
from ..cluster.naming import read_conventions
from ..cluster.objects import LiveObjects
from ..cluster.policy_objects import PolicyObjects
from ..cluster.policy_status import PolicyStatuses
from ..cluster.protocol import OBJECTS, POLICIES, Timing
from ..cluster.shared_ca import open_shared
from ..cluster.workloads import LiveWorkloads
from ..conventions import Conventions
from ..pki.rotation import Profile
from ..server.drain import Leaving
from ..server.handler import ReviewHandler
from ..server.listen import ReviewPort, start_probes
from ..server.port_tls import PortTls, WatchedClientAuthority
from ..server.probes import make_probes
from ..server.reload import Watched, WatchedCertificate, WatchedSnapshot, following, watch
from ..server.self_signed import ensure
from ..server.shared_certificate import SharedCertificate, SharedWatching
from ..server.state import Deciders, ServingState
from ..server.tls import CertificateFiles
from ..settings import OPTIONS, Settings, read_settings
from ..telemetry.log import LibraryHandler, Log, standard_output
from ..telemetry.metrics import Metrics
from ..telemetry.reviews import ReviewRecorder
from .exitcodes import ExitCode

DECIDERS: Deciders = {
    "/mutate": decide.mutate,
    "/validate": decide.validate,
    "/validate-workload": decide.validate_workload,
    "/validate-policy": decide.validate_policy,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add every option; what is left out may still come from the environment."""
    for option in OPTIONS:
        default = "" if option.default is None else f" (default {option.default})"
        text = f"{option.help}{default} [{option.variable}]"
        parser.add_argument(option.flag, dest=option.field, metavar=option.metavar, help=text)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal says otherwise."""
    settings = read_settings(vars(arguments), os.environ)
    writer = standard_output()
    log = Log(writer)
    logging.getLogger().addHandler(LibraryHandler(log))
    try:
        uvloop.run(_serve(settings, log))
    finally:
        writer.close()
    return ExitCode.OK


async def _serve(settings: Settings, log: Log) -> None:
    state = ServingState()
    metrics = Metrics(DECIDERS, lines_dropped=lambda: log.dropped, in_flight=lambda: state.in_flight)
    tls = PortTls(ask_clients=settings.client_ca is not None)
    conventions = read_conventions(settings.conventions)
    live = settings.topology == "cluster"
    source = _source(settings, conventions)
    snapshot = WatchedSnapshot(source, state, metrics, log, live=live)
    shared = _shared_certificate(settings, tls, state, SharedWatching(metrics, log))
    watched: list[Watched] = [snapshot]
    if shared is None:
        watched.insert(0, WatchedCertificate(_certificate_files(settings, log), tls, state, metrics, log))
    if settings.client_ca is not None:
        watched.insert(0, WatchedClientAuthority(settings.client_ca, tls, metrics, log))
    leaving = Leaving()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, leaving.begin, settings.drain_seconds)
    # At a terminal nobody routes to us and nobody wants to wait.
    loop.add_signal_handler(signal.SIGINT, leaving.begin, 0.0)

    async with AsyncExitStack() as stack:
        # First the probes: a large snapshot takes longer to load than the kubelet waits for /livez.
        runner, probes_at = await start_probes(make_probes(state, metrics), settings.metrics_listen)
        stack.push_async_callback(runner.cleanup)
        for each in watched:
            await each.refresh()
        if shared:
            signing = asyncio.create_task(shared.run())
            leaving.depend_on(signing)
            stack.callback(signing.cancel)
        if live:
            timing = Timing()
            connect = open_cluster(settings.kubeconfig, timing)
            followed = LiveTopology(conventions, log, snapshot.adopt)
            others = [LiveObjects(OBJECTS, snapshot.adopt_objects)]
            tasks = []
            if isinstance(source, PolicyObjects):
                statuses = PolicyStatuses(connect, log, timing)
                others.append(LiveObjects([POLICIES], following(source, snapshot, statuses, metrics, log)))
                tasks.append(asyncio.create_task(statuses.run()))
            workloads = LiveWorkloads(KINDS, snapshot.adopt_workloads, log)
            cluster = LiveCluster(connect, Parts(followed, others, workloads), metrics, log, timing)
            state.unlisted, state.awaited = cluster.unlisted, Awaited(cluster.follows_owner)
            for task in (*tasks, asyncio.create_task(cluster.run())):
                leaving.depend_on(task)
                stack.callback(task.cancel)
        port = ReviewPort(
            ReviewHandler(DECIDERS, state, ReviewRecorder(metrics, log)), tls.context, settings.client_name
        )
        listening_at = await port.start(settings.listen)
        state.listening = True
        log.event("info", "serving", listen=list(listening_at), metrics=list(probes_at), paths=list(DECIDERS))
        watching = asyncio.create_task(watch(watched, settings.reload_seconds, metrics, log))
        stack.callback(watching.cancel)
        await leaving.leave(state, port, log)


def _source(settings: Settings, conventions: Conventions) -> FileSource | PolicyObjects:
    pod_schema = read_pod_schema(settings.pod_schema)
    if settings.policies == "cluster":
        return PolicyObjects(conventions, pod_schema)
    topology = None if settings.topology == "cluster" else settings.topology
    return FileSource(settings.policies, topology, conventions, pod_schema)


def _shared_certificate(
    settings: Settings, tls: PortTls, state: ServingState, watching: SharedWatching
) -> SharedCertificate | None:
    if settings.ca_secret is None:
        return None
    shared = open_shared(settings.kubeconfig, settings.ca_secret, settings.webhook_configuration, Timing())
    profile = Profile(settings.ca_life, settings.leaf_life, timedelta(seconds=settings.ca_trust_seconds))
    return SharedCertificate(shared, settings.tls_names, profile, tls, state, watching)


def _certificate_files(settings: Settings, log: Log) -> CertificateFiles:
    if settings.tls_cert is not None and settings.tls_key is not None:
        return CertificateFiles(settings.tls_cert, settings.tls_key)
    assert settings.self_signed is not None  # noqa: S101 - read_settings sees to one or the other
    files, reason = ensure(settings.self_signed, settings.tls_names, datetime.now(UTC))
    if reason:
        authority = str(settings.self_signed / "ca.crt")
        log.event("warning", "made a certificate; put the CA's into caBundle", ca=authority, reason=reason)
    return files
