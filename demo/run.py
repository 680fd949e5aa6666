"""What both demonstrations' processes have in common: a folder that goes away, signals, faults and exit codes."""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from controlplane.api import ApiError
from controlplane.build import BuildError
from controlplane.client import KubectlError
from controlplane.process import ComponentError
from podberth.cli.terminal import Terminal

from .progress import Progress

# The project's exit codes (2 is configuration, 3 the cluster), and the shell's for a program that Ctrl-C ended.
_CONFIGURATION_FAULT, _CLUSTER_FAULT, _INTERRUPTED = 2, 3, 130


def run(show: Callable[[Path, Progress, Terminal], None]) -> int:
    """Let ``show`` speak, with a folder for its files, and return the exit code. Nothing is left, however it ends."""
    # A plain kill stops what was started, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress = Progress()
    try:
        with tempfile.TemporaryDirectory(prefix="podberth-demo-") as directory:
            show(Path(directory), progress, Terminal.of(sys.stdout))
    except KeyboardInterrupt:
        progress.say("interrupted; all stopped")
        return _INTERRUPTED
    except BrokenPipeError:
        # `make demo | head` has read enough; without this the interpreter's own flush at exit fails as well
        # (Python's documentation of SIGPIPE).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
        return _CONFIGURATION_FAULT
    except (ApiError, ComponentError, KubectlError, HTTPException, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return _CLUSTER_FAULT
    progress.say("all stopped")
    return 0
