"""podberth itself, as a process of ours: started as a user starts it, stopped by its own process id."""

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch

from .examples import ROOT

POLICIES = ROOT / "policies"

# Ready after about a second here; the bound is for a machine under load.
_READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """A running podberth."""

    port: int
    ca_file: Path
    arguments: tuple[str, ...]
    """Its command line, behind ``podberth``."""

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"https://127.0.0.1:{self.port}"


@contextmanager
def serving(snapshot: Path, directory: Path) -> Iterator[Served]:
    """Run ``podberth serve`` on a snapshot of a cluster until the block ends; its files lie below ``directory``.

    Raises:
        ComponentError: it does not start; ends with the tail of its log.
    """
    ports = Ports()
    certificates = directory / "certificates"
    certificates.mkdir()
    try:
        with closing(Guard()) as guard:
            port, metrics = ports.take(), ports.take()
            arguments = (
                "serve",
                *("--policies", str(POLICIES)),
                *("--topology", str(snapshot)),
                *("--listen", f"127.0.0.1:{port}"),
                *("--metrics-listen", f"127.0.0.1:{metrics}"),
                *("--self-signed", str(certificates)),
            )
            command = (sys.executable, "-m", "podberth", *arguments)
            ready = f"http://127.0.0.1:{metrics}/readyz"
            log = directory / "podberth.log"
            component = Component(Launch("podberth", command, os.environ, log, lambda: _answers(ready)), guard)
            try:
                component.wait_ready(_READY_SECONDS)
                yield Served(port, certificates / "ca.crt", arguments)
                component.check()
            finally:
                component.stop()
    finally:
        ports.release()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - the address is ours
            return True
    except (OSError, urllib.error.URLError):
        return False
