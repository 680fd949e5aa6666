"""Hosts of the tests' own: network namespaces, each with a cable to this machine that can be cut.

A namespace lives as long as its process, and its cable as long as it: nothing of them outlives a run, however it ends.
"""

import ipaddress
import os
import subprocess
from pathlib import Path

from controlplane.ports import Ports
from controlplane.process import Component, Guard, Launch

_SECONDS = 60.0
# RFC 2544: for tests of networks, in use by nobody else. A port that is reserved on this machine (controlplane.ports)
# gives each host four addresses of its own, and its cable a name.
_ADDRESSES = ipaddress.ip_network("198.18.0.0/15")
_LOWEST_PORT = 20000
_EACH = 4


class Host:
    """A host at `address`, to which this machine is `gateway`."""

    def __init__(self, directory: Path) -> None:
        """Make it. Raises OSError or subprocess.CalledProcessError, where this machine lets nobody do that."""
        self._ports = Ports()
        number = self._ports.take()
        self._cable = f"podberth{number}"
        first = _ADDRESSES[(number - _LOWEST_PORT) * _EACH]
        self.gateway, self.address = str(first + 1), str(first + 2)
        self._guard = Guard()
        self._holder: Component | None = None
        try:
            self._make(directory)
        except BaseException:
            self.close()
            raise

    def _make(self, directory: Path) -> None:
        command = ("unshare", "--net", "sleep", "infinity")
        launch = Launch("host", command, dict(os.environ), directory / f"{self._cable}.log", self._apart)
        self._holder = Component(launch, self._guard)
        self._holder.wait_ready(_SECONDS)
        pid = str(self._holder.pid)
        _run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", pid)
        _run("ip", "address", "add", f"{self.gateway}/30", "dev", self._cable)
        _run("ip", "link", "set", self._cable, "up")
        _run(*self.prefix, "ip", "address", "add", f"{self.address}/30", "dev", "eth0")
        _run(*self.prefix, "ip", "link", "set", "lo", "up")
        self.join()

    @property
    def prefix(self) -> tuple[str, ...]:
        """What a command is begun with to run there."""
        assert self._holder
        return "nsenter", f"--net=/proc/{self._holder.pid}/ns/net"

    def cut(self) -> None:
        """Take the cable off, at the far end: what is sent there from here is lost, without an error."""
        _run(*self.prefix, "ip", "link", "set", "eth0", "down")

    def join(self) -> None:
        """Put it on again."""
        _run(*self.prefix, "ip", "link", "set", "eth0", "up")

    def close(self) -> None:
        """End it."""
        if self._holder:
            self._holder.stop()
        self._guard.close()
        self._ports.release()

    def _apart(self) -> bool:
        """Return whether the process has left this machine's network."""
        assert self._holder
        return Path(f"/proc/{self._holder.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()


def lacking(directory: Path) -> str:
    """Return why no host can be made here; empty where one can."""
    try:
        Host(directory).close()
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"
    except (OSError, RuntimeError, AssertionError) as error:
        return str(error)
    return ""


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
