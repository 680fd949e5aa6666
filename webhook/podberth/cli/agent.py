"""``podberth agent``: reads the node's accelerators, and publishes or prints the topology document."""

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Any, get_args

import orjson

from ..agent.api_requests import LabelTarget
from ..agent.kubelet import SOCKET, open_kubelet
from ..agent.publish import NFD_FOLDER, FeatureFile, Say, publish
from ..agent.publisher import HEARTBEAT_SECONDS, Publisher
from ..agent.reader import READERS, Reader, located, open_reader
from ..agent.sysfs import Sysfs
from ..agent.watch import DeviceWatch, documents
from ..errors import UsageError
from ..kube.object_names import is_subdomain
from ..kube.times import as_time
from ..telemetry.log import Level, Log, standard_output
from ..topology.codec import decode_topology
from ..topology.derive import derive
from ..topology.shapes import SHAPES, simulate
from .access import add_access, address, number, open_api
from .exitcodes import ExitCode
from .output import let_go, talk

if TYPE_CHECKING:
    from ..agent.last_reading import Meter

# Events report faults at once; changes that only a new reading shows (MIG, links, NICs) may be this old.
_INTERVAL_SECONDS = 30.0
# Ten times a second to once a day.
SECONDS = number(0.1, 86400, "seconds from 0.1 to 86400")
# A simulated machine never changes; time.sleep takes no inf.
_SIMULATED_SECONDS = 3600.0
_NFD_FILE = "nfd-file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``podberth agent``."""
    add = parser.add_argument
    add("--print", action="store_true", help="write the topology ConfigMap to stdout instead, one line of JSON")
    add("--once", action="store_true", help="with --print: read once and exit; else print again after each change")
    add("--simulate", metavar="SHAPE", choices=SHAPES, help=f"simulate a machine instead: {', '.join(SHAPES)}")
    add("--node", metavar="NAME", help="the node's name (default: $NODE_NAME, else the host's)")
    add("--vendor", choices=READERS, help="the vendor of the accelerators (default: the installed driver's)")
    add(
        "--interval",
        metavar="SECONDS",
        type=SECONDS,
        default=_INTERVAL_SECONDS,
        help="between two readings (default 30)",
    )
    add("--sysfs", metavar="DIR", type=Path, default=Path("/sys"), help="where sysfs is mounted (default /sys)")
    add("--metrics-listen", metavar="HOST:PORT", type=address, help="serve /metrics and /livez there (default: not)")
    add(
        "--pod-resources",
        metavar="SOCKET",
        type=Path,
        help=f"metrics include the pod that holds each GPU, from the kubelet's socket; it is {SOCKET}",
    )
    add_access(parser)
    add(
        "--heartbeat",
        metavar="SECONDS",
        type=SECONDS,
        default=HEARTBEAT_SECONDS,
        help=f"between two heartbeats, at the most (default {HEARTBEAT_SECONDS:g})",
    )
    targets = (_NFD_FILE, *get_args(LabelTarget))
    add("--labels", choices=targets, help="write the link shape and the link domain's size as labels too, this way")
    add(
        "--free-labels",
        action="store_true",
        help="write the number of free linked GPUs as a label, too; needs --labels own and --pod-resources",
    )
    add("--features-dir", metavar="DIR", type=Path, default=NFD_FOLDER, help=f"of nfd-file (default {NFD_FOLDER})")


def run(arguments: argparse.Namespace) -> int:
    """Publish the node's topology document, or print it if ``--print`` is set; return the exit code.

    Each change is published or printed, too, until a signal arrives. ``--print --once`` prints one document only; with
    ``--simulate``, there is only one document.
    """
    arguments.node = _node_name(arguments.node)
    if arguments.metrics_listen is not None and (arguments.once or arguments.simulate):
        raise UsageError("--metrics-listen: goes with neither --once nor --simulate; there are no devices to scrape")
    if arguments.pod_resources is not None and arguments.metrics_listen is None:
        raise UsageError("--pod-resources: is for metrics; do: --metrics-listen HOST:PORT too")
    if arguments.free_labels and (arguments.labels != "own" or arguments.pod_resources is None):
        raise UsageError("--free-labels: wants --labels own, and --pod-resources for who holds the GPUs")
    if arguments.once and not arguments.print:
        raise UsageError("--once: want --print with it; an agent that publishes stays, for its heartbeat")
    # A container's first process has no other way to end; and whatever ends the agent, it closes the driver.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return _print(arguments) if arguments.print else _publish(arguments)


def _publish(arguments: argparse.Namespace) -> int:
    target = arguments.labels if arguments.labels in get_args(LabelTarget) else None
    features = FeatureFile(arguments.features_dir) if arguments.labels == _NFD_FILE else None
    with closing(open_api(arguments, connections=1)) as api, closing(standard_output()) as writer:
        log = Log(writer)

        def say(level: Level, line: str) -> None:
            log.event(level, line, node=arguments.node)

        publisher = Publisher(arguments.node, draw=random, heartbeat_seconds=arguments.heartbeat, labels=target)
        try:
            with suppress(KeyboardInterrupt), _sight(arguments, say) as sight:
                say("info", "publishing")
                publish(sight, publisher, api.send, say=say, features=features)
        finally:
            if (request := publisher.last_request()) is not None:
                api.send(request)
    return ExitCode.OK


@contextmanager
def _sight(arguments: argparse.Namespace, say: Say) -> Iterator[DeviceWatch]:
    if arguments.simulate:
        made = decode_topology(simulate(arguments.simulate, arguments.node)[1])
        never = replace(made, observed="")
        yield DeviceWatch(
            lambda: never,
            time.sleep,
            interval_seconds=_SIMULATED_SECONDS,
            now=lambda: made.observed,
            say=partial(say, "warning"),
        )
        return
    with _watch(arguments, say) as watch:
        yield watch


@contextmanager
def _watch(arguments: argparse.Namespace, say: Say) -> Iterator[DeviceWatch]:
    sysfs = Sysfs(arguments.sysfs)
    with closing(open_reader(sysfs, arguments.vendor)) as opened, _metered(opened, arguments, say) as meter:
        reader = meter or opened
        watch = DeviceWatch(
            lambda: derive(located(reader.read(), sysfs)),
            reader.wait,
            interval_seconds=arguments.interval,
            now=lambda: as_time(datetime.now(UTC)),
            say=partial(say, "warning"),
            noted=meter.count_change if meter else lambda: None,
        )
        if meter and arguments.free_labels:
            watch.allocation = lambda: meter.reading().allocation
        yield watch


@contextmanager
def _metered(reader: Reader, arguments: argparse.Namespace, say: Say) -> Iterator["Meter | None"]:
    """Yield a ``Meter`` that reads with ``reader``, and serve its readings as metrics in the open context.

    Without the flag --metrics-listen, yield None; no metrics are served.
    """
    if arguments.metrics_listen is None:
        yield None
        return
    # The metrics' library is memory that others do not pay.
    from ..agent.last_reading import Meter  # noqa: PLC0415
    from ..agent.metrics_server import serving  # noqa: PLC0415

    socket = arguments.pod_resources
    kubelet = None if socket is None else open_kubelet(socket, partial(say, "warning"))
    meter = Meter(reader, node=arguments.node, interval_seconds=arguments.interval, kubelet=kubelet)
    with serving(arguments.metrics_listen, meter) as port:
        say("info", f"metrics: listening on port {port}")
        yield meter


def _print(arguments: argparse.Namespace) -> int:
    found = iter([simulate(arguments.simulate, arguments.node)[1]]) if arguments.simulate else _read(arguments)
    try:
        for document in islice(found, 1) if arguments.once else found:
            sys.stdout.write(orjson.dumps(document).decode() + "\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:  # the reader of the output has closed it
        let_go()
    return ExitCode.OK


def _read(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with _watch(arguments, lambda _, line: talk([line])) as watch:
        yield from documents(watch, arguments.node)


def _node_name(given: str | None) -> str:
    name = given or os.environ.get("NODE_NAME") or platform.node().lower()
    # https://kubernetes.io/docs/concepts/architecture/nodes/#node-name-uniqueness
    if not is_subdomain(name):
        raise UsageError(f"--node: got {name!r}, want the name of a Node, a DNS subdomain; the agent's manifest has it")
    return name
