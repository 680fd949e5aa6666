"""``podberth agent``: read this node's accelerators and print the document that describes them."""

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from ..agent.reader import READERS, open_reader
from ..agent.sysfs import Sysfs
from ..agent.watch import documents
from ..topology.shapes import SHAPES, simulate
from .exitcodes import ExitCode

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


def run(arguments: argparse.Namespace) -> int:
    """Print documents until told to stop, or one."""
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
    with closing(open_reader(sysfs, arguments.vendor)) as reader:
        yield from documents(
            reader,
            sysfs,
            node=arguments.node,
            interval_seconds=arguments.interval,
            now=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            say=lambda line: print(f"podberth: {line}", file=sys.stderr),  # noqa: T201 - stderr is where it talks
        )


def _write(found: Iterable[dict[str, Any]]) -> None:
    for document in found:
        sys.stdout.write(orjson.dumps(document).decode() + "\n")
        sys.stdout.flush()


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86400:  # noqa: PLR2004 - ten times a second to once a day; nan is neither
        raise argparse.ArgumentTypeError(f"got {text!r}, want seconds from 0.1 to 86400")
    return seconds
