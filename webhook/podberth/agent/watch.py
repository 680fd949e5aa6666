"""Reads a node's devices again and again, derives the topology, and reports each change of the topology."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from typing import Any

from ..errors import DeviceError
from ..topology.codec import encode_topology
from ..topology.node import NodeTopology
from ..topology.usage import Allocation

_MOST_FAILURES = 20  # further failures are not counted: 2 ** 20 seconds are longer than any interval


class DeviceWatch:
    """Reads the topology again and again, and keeps the last one.

    If the driver disappears after the first reading, the watch waits for the driver, with pauses that grow up to the
    interval, and keeps the last topology. podberth uses this topology until the Lease of the node expires, which the
    agent does not renew without a driver.
    """

    topology: NodeTopology | None = None
    """The last topology; the field ``observed`` is the time of the last change. None before the first reading."""

    allocation: Callable[[], Allocation | None] | None = None
    """Set by the caller if the free GPUs are to be known: returns the holders; None without the kubelet's answer."""

    def __init__(
        self,
        read: Callable[[], NodeTopology],
        wait: Callable[[float], object],
        *,
        interval_seconds: float,
        now: Callable[[], str],
        say: Callable[[str], None],
        noted: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the watch; ``look`` reads the devices.

        ``read`` reads the topology, without the time, from devices or a simulated machine. ``wait`` waits for some
        seconds, or until a device reports a change. ``now`` returns the time for the field ``observed``. ``say`` writes
        a log line, for example that the driver disappeared. ``noted`` is called after each change of the topology.
        """
        self._read, self._wait, self._now, self._say, self._noted = read, wait, now, say, noted
        self._interval_seconds = interval_seconds
        self._failures = 0

    @property
    def answers(self) -> bool:
        """Whether the driver answered at the last reading."""
        return self._failures == 0

    def look(self) -> bool:
        """Read the devices now; return whether the topology has changed.

        Raises:
            DeviceError: nothing can be read at the start, or a later reading fails in a way that no retry helps.
        """
        try:
            topology = self._read()
        except DeviceError as error:
            if self.topology is None or error.lasting:
                raise
            if not self._failures:
                self._say(str(error))
            self._failures = min(self._failures + 1, _MOST_FAILURES)
            return False
        self._failures = 0
        if self.topology is not None and topology == replace(self.topology, observed=""):
            return False
        self.topology = replace(topology, observed=self._now())
        self._noted()
        return True

    def wait(self, most_seconds: float = inf) -> None:
        """Wait until the next reading is due, but at most ``most_seconds``.

        A reading is due if a device changed or the interval has passed.
        """
        pause = self._interval_seconds
        if self._failures:
            pause = min(pause, 2.0 ** (self._failures - 1))
        self._wait(min(pause, most_seconds))


def documents(watch: DeviceWatch, node: str) -> Iterator[dict[str, Any]]:
    """Yield the node's topology ConfigMap now and after each change, without end.

    Raises:
        DeviceError: nothing can be read at the start, or a later reading fails in a way that no retry helps.
    """
    while True:
        if watch.look() and watch.topology is not None:
            yield encode_topology(node, watch.topology)
        watch.wait()
