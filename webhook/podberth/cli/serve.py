"""``podberth serve``: creates and connects the parts of the webhook process."""

import argparse
import asyncio
import logging
import os
import signal
import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import uvloop

from ..admission import decide
from ..admission.awaited import Awaited
from ..admission.workload import validate_workload
from ..api.opening import client_class
from ..api.protocol import NAMESPACED_POLICIES, OBJECTS, Timing
from ..cluster.events import Events, ReviewEvents
from ..cluster.follow import LiveCluster
from ..cluster.layered_policies import LayeredPolicies
from ..cluster.live_nodes import LiveTopology
from ..cluster.policy_status import PolicyStatuses
from ..cluster.shared_ca import open_shared
from ..cluster.whole_objects import LiveObjects
from ..cluster.workloads import LiveWorkloads
from ..conventions import Conventions
from ..errors import without_extra
from ..facts.object_kinds import FOLLOWED
from ..files.loading import FileSource, PolicyFiles, read_pod_schema
from ..files.naming import read_conventions
from ..pki.rotation import Lifetimes
from ..port.byte_budget import MemoryBudget
from ..probes import ProbePort
from ..server.drain import Leaving
from ..server.handler import ReviewHandler
from ..server.judge import PolicyJudge
from ..server.listen import ReviewPort
from ..server.memory import prepare
from ..server.port_tls import CertificateFiles, PortTls, WatchedClientAuthority
from ..server.record_key import RecordKeys, WatchedRecordKey
from ..server.reload import Watched, WatchedCertificate, WatchedSnapshot, following, watch
from ..server.self_signed import ensure, ensure_record_key
from ..server.shared_certificate import SharedCertificate
from ..server.state import Deciders, ServingState
from ..settings import OPTIONS, Settings, read_settings
from ..telemetry.log import LibraryHandler, Log, standard_output
from ..telemetry.metrics import EventMetrics, Metrics, PortMetrics
from ..telemetry.reviews import Listener, ReviewRecorder
from ..telemetry.traces import ReviewTracer, asked_for
from ..wellknown import NAMESPACED_KIND
from .exitcodes import ExitCode

DECIDERS: Deciders = {
    "/mutate": decide.mutate,
    "/validate": decide.validate,
    "/validate-workload": validate_workload,
    "/validate-policy": PolicyJudge(),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add every option of ``podberth serve``; an option that is left out may come from the environment."""
    for option in OPTIONS:
        default = "" if option.default is None else f" (default {option.default})"
        text = f"{option.help}{default} [{option.variable}]"
        parser.add_argument(option.flag, dest=option.field, metavar=option.metavar, help=text)


def run(arguments: argparse.Namespace) -> int:
    """Serve the webhook until a signal arrives, and return the exit code."""
    settings = read_settings(vars(arguments), os.environ)
    prepare()
    writer = standard_output()
    log = Log(writer)
    logging.getLogger().addHandler(LibraryHandler(log))
    tracer = _tracer(log)
    try:
        uvloop.run(_serve(settings, log, tracer))
    finally:
        if tracer:
            tracer.close()
        writer.close()
    return ExitCode.OK


@dataclass(frozen=True, slots=True)
class _Process:
    """The objects that the parts of the webhook's process share."""

    settings: Settings
    conventions: Conventions
    state: ServingState
    metrics: Metrics
    log: Log
    leaving: Leaving


async def _serve(settings: Settings, log: Log, tracer: ReviewTracer | None) -> None:
    state = ServingState()
    budget = MemoryBudget()
    metrics = Metrics(DECIDERS, lines_dropped=lambda: log.dropped, in_flight=lambda: state.in_flight)
    metrics.client_certificate_required.set(settings.client_ca is not None)
    tls = PortTls(ask_clients=settings.client_ca is not None)
    conventions = read_conventions(settings.conventions)
    source = _source(settings, conventions)
    snapshot = WatchedSnapshot(source, state, metrics, log, live=isinstance(source, LayeredPolicies))
    keys = RecordKeys(snapshot.adopt_sealer, metrics, log)
    use_key = keys.use if settings.record_key is None else _use_no_key
    shared: SharedCertificate | None = None
    if settings.ca_secret is not None:
        authorities = open_shared(settings.kubeconfig, settings.ca_secret, settings.webhook_configuration, Timing())
        profile = Lifetimes(settings.ca_life, settings.leaf_life, timedelta(seconds=settings.ca_trust_seconds))
        shared = SharedCertificate(authorities, settings.tls_names, profile, tls, state, metrics, log, use_key)
    watched: list[Watched] = [*_record_key(settings, keys), snapshot]
    if shared is None:
        watched.insert(0, WatchedCertificate(_certificate_files(settings, log), tls, state, metrics, log))
    if settings.client_ca is not None:
        watched.insert(0, WatchedClientAuthority(settings.client_ca, tls, metrics, log))
    leaving = Leaving()
    _heed_signals(leaving, settings.drain_seconds)
    process = _Process(settings, conventions, state, metrics, log, leaving)

    async with AsyncExitStack() as stack:
        # The probes start first: a large snapshot takes longer to load than the kubelet waits for /livez.
        probes = ProbePort(state.unready, metrics.exposition)
        probes_at = probes.start(settings.metrics_listen)
        stack.push_async_callback(probes.stop)
        for each in watched:
            await each.refresh()
        if shared:
            signing = asyncio.create_task(shared.run())
            leaving.depend_on(signing)
            stack.callback(signing.cancel)
        events = _follow(process, source, snapshot, stack) if isinstance(source, LayeredPolicies) else None
        recorder = ReviewRecorder(metrics, log, _listeners(settings, state, events))
        handler = ReviewHandler(DECIDERS, state, recorder, budget, tracer)
        port = ReviewPort(handler, tls.context, budget, settings.client_name)
        places = port.places
        PortMetrics(metrics.registry, budget.used, budget.refused, lambda: (len(places), places.displaced))
        listening_at = port.start(settings.listen)
        state.listening = True
        log.event("info", "serving", listen=list(listening_at), metrics=list(probes_at), paths=list(DECIDERS))
        watching = asyncio.create_task(watch(watched, settings.reload_seconds, metrics, log))
        leaving.end_with(watching)
        await leaving.leave(state, port, log)


def _follow(
    process: _Process, source: LayeredPolicies, snapshot: WatchedSnapshot, stack: AsyncExitStack
) -> Events | None:
    """Start to follow the cluster until ``stack`` is closed; return the publisher of Events, None if Events are off."""
    settings, state, metrics, log = process.settings, process.state, process.metrics, process.log
    timing = Timing()
    connect = partial(client_class("--topology cluster"), settings.kubeconfig, timing)
    objects = LiveObjects(OBJECTS, snapshot.adopt_objects)
    topology = LiveTopology(process.conventions, log, snapshot.adopt)
    events: Events | None = None
    if settings.events:
        # In a pod the host's name is the pod's.
        events = Events(connect(), socket.gethostname(), EventMetrics(metrics.registry), log, timing=timing)
        stack.push_async_callback(events.finish, asyncio.create_task(events.run()))
    statuses = PolicyStatuses(
        connect(),
        log,
        timing,
        settings.webhook_configuration,
        lambda: topology.stale_count,
        events.publish if events else None,
    )
    of_namespaces = PolicyStatuses(
        connect(),
        log,
        timing,
        settings.webhook_configuration,
        lambda: 0,
        kind=NAMESPACED_KIND,
        resource=NAMESPACED_POLICIES,
    )
    take_policies = following(source, snapshot, statuses, metrics, log)
    workloads = LiveWorkloads(FOLLOWED, snapshot.adopt_workloads, log)
    takes = take_policies, source.take_exceptions, snapshot.adopt_params
    take_namespaced = snapshot.adopt_namespaced, of_namespaces.receive
    schema = read_pod_schema(settings.pod_schema)
    cluster = LiveCluster(connect, topology, objects, workloads, *takes, take_namespaced, schema, metrics, log, timing)
    snapshot.when_params_wanted = cluster.params.known
    state.unlisted, state.awaited = cluster.unlisted, Awaited(cluster.served.follows_owner)
    for endless in (statuses.run(), of_namespaces.run(), cluster.run()):
        task = asyncio.create_task(endless)
        process.leaving.depend_on(task)
        stack.callback(task.cancel)
    return events


def _listeners(settings: Settings, state: ServingState, events: Events | None) -> dict[str, Listener]:
    """Return a mapping from a path of the webhook to the function that is called with each review and the answer."""
    if events is None:
        return {}
    reviewed = ReviewEvents(events, lambda: state.snapshot, proved=settings.client_ca is not None)
    return {"/validate": reviewed.observe}


def _tracer(log: Log) -> ReviewTracer | None:
    """Return the tracer of reviews; None if OpenTelemetry's environment variables ask for none, or set-up fails."""
    try:
        if not asked_for(os.environ):
            return None
        from ..telemetry.tracing import OpenTelemetryTracer  # noqa: PLC0415 - an extra, and for those who ask

        return OpenTelemetryTracer(socket.gethostname())
    except ImportError as error:
        log.event("warning", "traces: none are sent", problem=without_extra(error, "tracing"))
    except ValueError as error:
        log.event("warning", "traces: none are sent", problem=str(error))
    return None


def _heed_signals(leaving: Leaving, drain_seconds: float) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, leaving.begin, drain_seconds)
    # At a terminal no traffic is routed here, and nobody wants to wait.
    loop.add_signal_handler(signal.SIGINT, leaving.begin, 0.0)


def _source(settings: Settings, conventions: Conventions) -> FileSource | LayeredPolicies:
    pod_schema = read_pod_schema(settings.pod_schema)
    if settings.topology == "cluster":
        files = None if settings.policies is None else PolicyFiles(settings.policies)
        return LayeredPolicies(files, conventions, pod_schema)
    assert settings.policies is not None  # noqa: S101 - read_settings sees to it
    return FileSource(settings.policies, settings.topology, conventions, pod_schema)


def _use_no_key(_secret: bytes, _where: str) -> None:
    """Do nothing with the record key in the Secret, because the flag --record-key names another key."""


def _record_key(settings: Settings, keys: RecordKeys) -> list[Watched]:
    """Return a list with the watch that reloads the record key from the key's file; empty if the Secret has the key."""
    path = settings.record_key or settings.tls_key
    if path is None and settings.self_signed is not None:
        path = ensure_record_key(settings.self_signed)
    return [] if path is None else [WatchedRecordKey(path, keys)]


def _certificate_files(settings: Settings, log: Log) -> CertificateFiles:
    if settings.tls_cert is not None and settings.tls_key is not None:
        return CertificateFiles(settings.tls_cert, settings.tls_key)
    assert settings.self_signed is not None  # noqa: S101 - read_settings sees to one or the other
    files, reason = ensure(settings.self_signed, settings.tls_names, datetime.now(UTC))
    if reason:
        authority = str(settings.self_signed / "ca.crt")
        log.event("warning", "made a certificate; put the CA's into caBundle", ca=authority, reason=reason)
    return files
