"""What is going on, on stderr, with the seconds since the start."""

import sys
import time
from typing import TextIO

from podberth.cli.terminal import Terminal


class Progress:
    """The steps of a demonstration."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Start the clock."""
        self._stream = stream or sys.stderr
        self._terminal = Terminal.of(self._stream)
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been."""
        return time.monotonic() - self._started

    def say(self, text: str) -> None:
        """Tell one step."""
        self._terminal.line(f"{self.seconds:5.1f} s  {text}", "dim")
