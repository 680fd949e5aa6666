"""The reader that metrics are made from: it passes the agent's looks on, and keeps the last for whoever scrapes.

Only the agent's own thread talks to a driver. Its session is closed and opened again under a driver that restarts, and
a call that hangs must not hang a scrape. So what GPUs do is sampled once per look, right after the document of that
look is out, and a scrape gives out what was seen last, until that is too old to be true.
"""

import time
from collections.abc import Callable

from ..errors import DeviceError
from ..telemetry.gpu_metrics import NodeReading
from ..topology.allocation import allocate
from ..topology.derive import derive
from ..topology.model import Unseen
from ..topology.observation import Observation
from ..topology.usage import Look, Usage
from .kubelet import Kubelet
from .reader import UsageReader

# "Timeout after 45s of waiting for RPC response from GPU0 GSP!" is what the driver logs (XID 119) when a GPU's own
# processor is silent: a call can take that long and end. One that takes longer hangs.
_SLOWEST_CALL_SECONDS = 60.0


class Meter:
    """A reader around a reader. ``reading`` and ``silence_seconds`` are for other threads, the rest for the agent's."""

    def __init__(
        self,
        reader: UsageReader,
        *,
        node: str,
        interval_seconds: float,
        kubelet: Kubelet | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with nothing seen."""
        self._now = now
        self._reader = reader
        self._node = node
        self._kubelet = kubelet
        self.patience_seconds = 2 * interval_seconds + _SLOWEST_CALL_SECONDS
        """How old a look, and how long the silence of the agent's thread, may be."""
        self._unmeasured: Observation | None = None
        self._look: tuple[float, Look] | None = None
        self._last_read_seconds: float | None = None
        self._reads = self._failed_reads = self._changes = 0
        self._sign_of_life = self._now()

    def read(self) -> Observation:
        """Look at everything now.

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
        """Ask what the GPUs of the last look do, then wait as the reader does."""
        self._sign_of_life = self._now()
        if self._unmeasured is not None:
            self._look = self._now(), self._measured(self._unmeasured)
            self._unmeasured = None
        return self._reader.wait(seconds)

    def close(self) -> None:
        """Let the driver go."""
        self._reader.close()

    def count_change(self) -> None:
        """Count a document that differs from the one before."""
        self._changes += 1

    def silence_seconds(self) -> float:
        """Tell how long ago the agent's thread last began to look or to wait."""
        return self._now() - self._sign_of_life

    def reading(self) -> NodeReading:
        """Tell what is known now; asks the kubelet."""
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
        except DeviceError as error:  # the next look will say so too
            usage = Usage(unseen=(Unseen(what="usage", why=str(error)),))
        return Look(topology=derive(seen), usage=usage)
