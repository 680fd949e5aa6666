"""Keeps the last observation of a node's GPUs and the GPUs' last usage, for the metrics.

Only the agent's main thread calls a driver: the driver's session is closed and opened again when the driver restarts,
and a call that hangs must not delay a scrape. So the GPUs' usage is measured once for each reading, right after the
document of that reading is published. A scrape shows the last measurement until the measurement is too old.
"""

import time
from collections.abc import Callable

from ..errors import DeviceError
from ..telemetry.gpu_metrics import NodeReading
from ..topology.derive import derive
from ..topology.node import Unseen
from ..topology.observation import Observation
from ..topology.usage import Look, Usage, allocate
from .kubelet import Kubelet
from .reader import Reader

# "Timeout after 45s of waiting for RPC response from GPU0 GSP!" is in the driver's log (XID 119) when a GPU's own
# processor is silent: a call can take that long and still return. A call that takes longer hangs.
_SLOWEST_CALL_SECONDS = 60.0


class Meter:
    """Wraps a reader of a vendor's driver, and keeps the results for the metrics.

    Other threads may use ``reading`` and ``silence_seconds``. Only the agent's own thread uses the other methods.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        node: str,
        interval_seconds: float,
        kubelet: Kubelet | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap ``reader``, which reads the devices; nothing is read yet.

        ``interval_seconds`` is the agent's pause between two readings. ``kubelet`` lists the containers that hold the
        GPUs; if None, the metrics name no containers. ``now`` is a monotonic clock.
        """
        self._now = now
        self._reader = reader
        self._node = node
        self._kubelet = kubelet
        self.patience_seconds = 2 * interval_seconds + _SLOWEST_CALL_SECONDS
        """The age in seconds above which metrics omit an observation, and the agent's thread counts as hung."""
        self._unmeasured: Observation | None = None
        self._look: tuple[float, Look] | None = None
        self._last_read_seconds: float | None = None
        self._reads = self._failed_reads = self._changes = 0
        self._sign_of_life = self._now()

    def read(self) -> Observation:
        """Read all devices now.

        Raises:
            DeviceError: the driver does not answer.
        """
        self._sign_of_life = self._now()
        try:
            self._unmeasured = self._reader.read()
        except DeviceError:
            self._failed_reads += 1
            self._unmeasured = self._look = None
            raise
        self._reads += 1
        self._last_read_seconds = time.time()
        return self._unmeasured

    def wait(self, seconds: float) -> bool:
        """Read the usage of the last observation's GPUs, then wait as the wrapped reader does.

        Return whether a device reported a change; False if ``seconds`` have passed.
        """
        self._sign_of_life = self._now()
        if self._unmeasured is not None:
            self._look = self._now(), self._measured(self._unmeasured)
            self._unmeasured = None
        return self._reader.wait(seconds)

    def count_change(self) -> None:
        """Count one more change of the topology document, for the metrics."""
        self._changes += 1

    def silence_seconds(self) -> float:
        """Return the seconds since the agent's main thread last began to read or to wait."""
        return self._now() - self._sign_of_life

    def reading(self) -> NodeReading:
        """Return the data for a scrape: the last reading, unless too old, and the kubelet's list of devices."""
        seen = self._look
        look = seen[1] if seen is not None and self._now() - seen[0] <= self.patience_seconds else None
        grants = self._kubelet.grants() if self._kubelet is not None else None
        return NodeReading(
            node=self._node,
            look=look,
            allocation=allocate(grants, look) if grants is not None and look is not None else None,
            kubelet_answers=None if self._kubelet is None else grants is not None,
            last_read_seconds=self._last_read_seconds,
            reads=self._reads,
            failed_reads=self._failed_reads,
            changes=self._changes,
        )

    def _measured(self, seen: Observation) -> Look:
        try:
            usage = self._reader.usage(seen)
        except DeviceError as error:  # the next look will report it, too
            usage = Usage(unseen=(Unseen(what="usage", why=str(error)),))
        return Look(topology=derive(seen), usage=usage)
