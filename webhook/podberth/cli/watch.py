"""The flag ``--watch``: runs a command again whenever a file changes, until the user ends it with ctrl-c.

The files are compared every 0.3 seconds. Notifications of the kernel would need a library, and a container often gets
none about a mounted folder.
"""

import argparse
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event
from typing import Any, Final

from ..errors import PodberthError
from ..files.loading import revision_of
from .exitcodes import ExitCode
from .output import talk

_PAUSE_SECONDS: Final = 0.3
"""The time between two looks at the files: hardly noticed, and a look at 1,000 files takes some 10 ms."""


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Add the flag ``--watch``."""
    parser.add_argument("--watch", action="store_true", help="run again whenever a file changes, until ctrl-c")


def watched(arguments: argparse.Namespace, paths: Iterable[Path], once: Callable[[], int]) -> int:
    """Run a command, again after each change with ``--watch``, and return the exit code.

    Args:
        arguments: the arguments of the command, with the flag ``--watch``.
        paths: the files and directories that the command reads.
        once: runs the command once and returns the exit code. With ``--watch``, its errors are only reported.
    """
    if not arguments.watch:
        return once()
    places, ended = tuple(paths), Event()

    def end(*_: Any) -> None:
        ended.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, end)
    try:
        while True:
            try:
                once()
            except PodberthError as error:
                talk(str(error).splitlines())
            except RuntimeError:
                # The CEL engine raises it in place of the interrupt of a function that it has called.
                if not ended.is_set():
                    raise
            if ended.is_set():
                return ExitCode.INTERRUPTED
            # What the run itself has written, such as a report in a watched folder, is no change.
            seen = [revision_of(path) for path in places]
            talk([f"watching {', '.join(map(str, places))}; a change runs this again, ctrl-c ends it"])
            while [revision_of(path) for path in places] == seen:
                time.sleep(_PAUSE_SECONDS)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def files_of_cluster(arguments: argparse.Namespace) -> tuple[Path, ...]:
    """Return the files that the flags about a cluster name."""
    named = (vars(arguments).get(name) for name in ("topology", "conventions", "pod_schema"))
    return tuple(path for path in named if path is not None)
