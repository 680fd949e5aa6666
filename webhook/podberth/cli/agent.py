"""``podberth agent``: read this node's accelerators and print the document that describes them."""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from ..agent.kubelet import SOCKET
from ..agent.reader import READERS, Reader, UsageReader, open_reader
from ..agent.sysfs import Sysfs
from ..agent.watch import documents
from ..errors import UsageError
from ..settings import Address, parse_address
from ..topology.shapes import SHAPES, simulate
from .exitcodes import ExitCode

Documents: TypeAlias = Iterable[dict[str, Any]]
Count: TypeAlias = Callable[[Documents], Documents]

# Events tell of faults at once; what only a new look shows (MIG, links, NICs) may be this old.
_INTERVAL_SECONDS = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add = parser.add_argument
    add("--print", action="store_true", required=True, help="write the topology ConfigMap to stdout, one line of JSON")
    add("--once", action="store_true", help="look once and exit; else print again whenever something changed")
    add("--simulate", metavar="SHAPE", choices=SHAPES, help=f"play a machine instead: {', '.join(SHAPES)}")
    add("--node", metavar="NAME", default=platform.node(), help="the node's name (default: the host's)")
    add("--vendor", choices=READERS, help="whose accelerators (default: whose driver is here)")
    add(
        "--interval", metavar="SECONDS", type=_seconds, default=_INTERVAL_SECONDS, help="between two looks (default 30)"
    )
    add("--sysfs", metavar="DIR", type=Path, default=Path("/sys"), help="where sysfs is mounted (default /sys)")
    add("--metrics-listen", metavar="HOST:PORT", type=_address, help="serve /metrics and /livez there (default: not)")
    add(
        "--pod-resources",
        metavar="SOCKET",
        type=Path,
        help=f"metrics tell who holds each GPU, by the kubelet's socket; it is {SOCKET}",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print documents until told to stop, or one."""
    if arguments.metrics_listen is not None and (arguments.once or arguments.simulate):
        raise UsageError("--metrics-listen: goes with neither --once nor --simulate; nothing would stay to be scraped")
    if arguments.pod_resources is not None and arguments.metrics_listen is None:
        raise UsageError("--pod-resources: is for metrics; do: --metrics-listen HOST:PORT too")
    found = iter([simulate(arguments.simulate, arguments.node)[1]]) if arguments.simulate else _read(arguments)
    try:
        _write(islice(found, 1) if arguments.once else found)
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:  # who read has enough; what is left in the buffer is not to be complained about at the exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.OK


def _read(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    sysfs = Sysfs(arguments.sysfs)
    with closing(open_reader(sysfs, arguments.vendor)) as opened, _metered(opened, arguments) as (reader, counted):
        yield from counted(
            documents(
                reader,
                sysfs,
                node=arguments.node,
                interval_seconds=arguments.interval,
                now=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                say=_say,
            )
        )


@contextmanager
def _metered(reader: UsageReader, arguments: argparse.Namespace) -> Iterator[tuple[Reader, Count]]:
    """Serve metrics of what the reader sees, if they are wanted."""
    if arguments.metrics_listen is None:
        yield reader, lambda found: found
        return
    from ..agent.metering import metering  # noqa: PLC0415 - the metrics' library is memory that others do not pay

    with metering(
        reader,
        arguments.metrics_listen,
        node=arguments.node,
        interval_seconds=arguments.interval,
        pod_resources=arguments.pod_resources,
        say=_say,
    ) as meter:
        yield meter, meter.counted


def _say(line: str) -> None:
    print(f"podberth: {line}", file=sys.stderr, flush=True)  # noqa: T201 - stderr is where it talks


def _write(found: Iterable[dict[str, Any]]) -> None:
    for document in found:
        sys.stdout.write(orjson.dumps(document).decode() + "\n")
        sys.stdout.flush()


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"got {text!r}, {error}") from error


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86400:  # noqa: PLR2004 - ten times a second to once a day; nan is neither
        raise argparse.ArgumentTypeError(f"got {text!r}, want seconds from 0.1 to 86400")
    return seconds
