"""What is going on, on stderr, with the seconds since the start; and how long each stage took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from podberth.cli.terminal import Terminal


class Progress:
    """The steps of a demonstration."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Start the clock."""
        self._stream = stream or sys.stderr
        self._terminal = Terminal.of(self._stream)
        self._started = time.monotonic()
        self.stages: dict[str, float] = {}
        """The seconds of each stage that is over, in their order."""

    @property
    def seconds(self) -> float:
        """How long it has been."""
        return time.monotonic() - self._started

    def say(self, text: str) -> None:
        """Report one step."""
        self._terminal.line(f"{self.seconds:5.1f} s  {text}", "dim")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Take the time of what happens meanwhile."""
        began = self.seconds
        yield
        self.stages[name] = self.seconds - began
