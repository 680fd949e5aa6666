"""The kubelet as the metrics see it: asked seldom, by one thread at a time, and complained about once.

Asked when somebody scrapes and not by the agent's own thread: a kubelet that hangs delays a scrape by the deadline of
its call, and a GPU's fault by nothing.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import UsageError
from ..topology.allocation import Grant

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
"""Where the kubelet has its socket, on every platform whose kubelet has the default root directory."""

# The kubelet answers 100 questions a second, for all who ask (pkg/kubelet/apis/podresources/constants.go). Whoever
# scrapes more often than this, or at the same time as somebody else, gets the same answer.
_FRESH_SECONDS = 5.0


class KubeletUnavailable(Exception):  # noqa: N818 - a state of the node, not a fault
    """The kubelet did not tell; the text says why, on one line."""


class Kubelet:
    """Who holds what, as the kubelet said last."""

    def __init__(
        self,
        ask: Callable[[], tuple[Grant, ...]],
        say: Callable[[str], None],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep how to ask it, and who hears when it stops to answer."""
        self._now = now
        self._ask = ask
        self._say = say
        self._lock = threading.Lock()
        self._answer: tuple[Grant, ...] | None = None
        self._asked = float("-inf")
        self._failed = False

    def grants(self) -> tuple[Grant, ...] | None:
        """Return what everybody holds; None: the kubelet did not tell."""
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
                self._say(f"{error}; until it answers, metrics do not tell which GPUs are allocated")
            self._failed = True
            return None
        self._failed = False
        return answer


def open_kubelet(socket: Path, say: Callable[[str], None]) -> Kubelet:
    """Return the kubelet behind a socket, which need not be there yet.

    Raises:
        UsageError: the libraries for it are not installed.
    """
    try:
        from .pod_resources import list_grants  # noqa: PLC0415 - 19 MB that only those pay who ask (docs/adr/0020-gpu-metrics.md)
    except ModuleNotFoundError as error:
        raise UsageError(f"--pod-resources: no module {error.name}; do: pip install 'podberth[agent]'") from error
    return Kubelet(lambda: list_grants(socket), say)
