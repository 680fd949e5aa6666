"""Writes log lines to a file descriptor without ever blocking the code that logs.

A write to a pipe blocks when the pipe's reader is slow, and raises an error when the reader has gone. Slow or missing
readers may not affect the event loop. So lines are queued, and a separate thread writes them. When the queue is full,
lines are dropped and counted.
"""

import os
import select
import threading
from collections import deque

# The lines of two seconds, at the most reviews that one core can decide (bench/). At half a kilobyte a line: 4 MB.
MAX_LINES = 8192
# How long the thread waits for more lines before it writes: one system call then writes some hundred lines.
_GATHER_SECONDS = 0.02
# Half of a pipe's capacity (pipe(7): 65,536 bytes), so that the thread never waits for a reader that keeps up.
_WRITE_BYTES = 32_768


class LineWriter:
    """A bounded queue of lines in front of a file descriptor. ``write`` never blocks: a line beyond the bound is lost.

    Several threads may write at the same time: a deque's append is atomic, and each thread may exceed the bound by one
    line.
    """

    def __init__(self, descriptor: int, *, max_lines: int = MAX_LINES) -> None:
        """Start the thread that writes. The caller keeps ``descriptor`` open until ``close`` has returned."""
        self.dropped = 0
        self._descriptor = descriptor
        self._max_lines = max_lines
        self._lines: deque[bytes] = deque()
        self._wake = threading.Event()
        self._closing = threading.Event()
        # A daemon thread, because a reader that never reads again must not keep the process from exiting.
        self._thread = threading.Thread(target=self._run, name="podberth-log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queue a line, which ends with a line feed; drop the line if the queue is full."""
        lines = self._lines
        if len(lines) >= self._max_lines:
            self.dropped += 1
            return
        lines.append(line)
        if not self._wake.is_set():
            self._wake.set()

    def close(self, timeout_seconds: float = 1.0) -> None:
        """Write the queued lines and end the thread; return after the timeout even if lines are still queued."""
        self._closing.set()
        self._wake.set()
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._closing.wait(_GATHER_SECONDS)
            self._wake.clear()
            while batch := self._take():
                self._put(batch)
            if self._closing.is_set() and not self._lines:
                return

    def _take(self) -> list[bytes]:
        """Take lines from the queue. A line that another thread queues meanwhile is neither lost nor written twice."""
        batch: list[bytes] = []
        size = 0
        while self._lines and size < _WRITE_BYTES:
            line = self._lines.popleft()
            batch.append(line)
            size += len(line)
        return batch

    def _put(self, batch: list[bytes]) -> None:
        data = memoryview(b"".join(batch))
        try:
            while data:
                data = data[self._write_some(data) :]
        except OSError:  # the reader has gone, the disk is full: only the metric can show it
            self.dropped += len(batch)

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # another user of the pipe has made it non-blocking; this thread may wait
            writable = select.poll()
            writable.register(self._descriptor, select.POLLOUT)
            writable.poll()
            return 0
