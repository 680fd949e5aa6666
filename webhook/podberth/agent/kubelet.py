"""Caches the kubelet's list of devices that containers have, for the metrics; one thread at a time asks the kubelet.

Each failure is logged once. The list is read when metrics are scraped and, for live labels, by the agent's main thread
after the topology was sent. So a kubelet that hangs delays a scrape or the next look by the time limit of the call, and
never the report of a fault that was seen.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import UsageError, without_extra
from ..topology.usage import Grant

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
"""The path of the kubelet's socket, on every platform whose kubelet has the default root directory."""

# The kubelet answers 100 requests a second, of all clients (pkg/kubelet/apis/podresources/constants.go). More frequent
# or simultaneous scrapes get the same answer.
_FRESH_SECONDS = 5.0


class KubeletUnavailable(Exception):  # noqa: N818 - a state of the node, not a fault
    """The kubelet did not answer; the text gives the reason on one line."""


class Kubelet:
    """A cache of the kubelet's last answer: the devices that each container has."""

    def __init__(
        self,
        ask: Callable[[], tuple[Grant, ...]],
        say: Callable[[str], None],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create the cache. ``ask`` returns the kubelet's list; ``say`` logs that the kubelet has stopped answering."""
        self._now = now
        self._ask = ask
        self._say = say
        self._lock = threading.Lock()
        self._answer: tuple[Grant, ...] | None = None
        self._asked = float("-inf")
        self._failed = False

    def grants(self) -> tuple[Grant, ...] | None:
        """Return the devices of all containers, at most 5 s old; None if the kubelet did not answer."""
        with self._lock:
            if self._now() - self._asked >= _FRESH_SECONDS:
                self._answer = self._fetch()
                self._asked = self._now()
            return self._answer

    def _fetch(self) -> tuple[Grant, ...] | None:
        try:
            answer = self._ask()
        except KubeletUnavailable as error:
            if not self._failed:
                self._say(f"{error}; until it answers, metrics do not show which GPUs are allocated")
            self._failed = True
            return None
        self._failed = False
        return answer


def open_kubelet(socket: Path, say: Callable[[str], None]) -> Kubelet:
    """Return the cache for the kubelet that listens on ``socket``; the socket need not exist yet.

    Raises:
        UsageError: the libraries for the kubelet's API are not installed.
    """
    try:
        from .pod_resources import list_grants  # noqa: PLC0415 - 19 MB that only this flag needs (docs/adr/0020-gpu-metrics.md)
    except ModuleNotFoundError as error:
        raise UsageError(f"--pod-resources: {without_extra(error, 'agent')}") from error
    return Kubelet(lambda: list_grants(socket), say)
