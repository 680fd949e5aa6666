"""The log: one JSON object a line. ``event`` is for what happens to the process; reviews are written by ``reviews``."""

import logging
import os
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final, Literal, TypeAlias

import orjson

from ..errors import UsageError
from .bucket import Bucket
from .lines import LineWriter

Level: TypeAlias = Literal["info", "warning", "error"]

# Longest string that a line takes from outside. A user name or uid may be as long as a request body.
MAX_TEXT = 512
# Of what is no decision: a replica that is overloaded says so often enough to be found. Half a kilobyte a line, so a
# day of it is 430 MB at the most, where a stranger could write as much in minutes; the kubelet keeps 50 MB of it.
_LINES_PER_SECOND: Final = 10.0
_BURST_LINES: Final = 100.0
_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z


class Log:
    """Makes lines of fields and hands them to a writer."""

    def __init__(self, writer: LineWriter) -> None:
        """Write to ``writer``, which stays the caller's to close."""
        self._writer = writer

    @property
    def dropped(self) -> int:
        """How many lines were lost because nobody read them fast enough."""
        return self._writer.dropped

    def write(self, fields: dict[str, Any]) -> None:
        """Write one line of JSON; ``time`` and ``level`` are the author's to put in front."""
        self._writer.write(encode(fields))

    def event(self, level: Level, message: str, **fields: Any) -> None:
        """Tell of something that happened to the process."""
        self.write({"time": datetime.now(UTC), "level": level, "msg": message, **fields})

    def fault(self, message: str, error: BaseException, **fields: Any) -> None:
        """Tell of a bug, with its traceback."""
        lines = "".join(traceback.format_exception(error))
        self.event("error", message, error=f"{type(error).__name__}: {error}"[:MAX_TEXT], traceback=lines, **fields)


def encode(fields: dict[str, Any]) -> bytes:
    """Return fields as one JSON line, whatever they hold."""
    try:
        return orjson.dumps(fields, option=_OPTIONS)
    except TypeError:  # half a surrogate pair (a header), an integer beyond 64 bits
        plain = {key: repr(value)[:MAX_TEXT] for key, value in fields.items()}
        return orjson.dumps(plain, option=_OPTIONS)


class Spared:
    """Leaves lines out where more come than anybody reads, for whoever reaches a port can cause them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Have room for a burst."""
        self._room = Bucket(_BURST_LINES, 1 / _LINES_PER_SECOND)
        self._clock = clock
        self._left_out = 0

    def pass_on(self) -> dict[str, int] | None:
        """Return what a line says of those that were left out before it; None: it is to be left out, too."""
        if not self._room.take(self._clock()):
            self._left_out += 1
            return None
        left_out, self._left_out = self._left_out, 0
        return {"left_out": left_out} if left_out else {}


class LibraryHandler(logging.Handler):
    """Turns what libraries log through ``logging`` into lines of ours. Tracebacks of theirs are cut to their last line.

    aiohttp logs one for every client that sends no HTTP: a port scan would fill the log.
    """

    def __init__(self, log: Log) -> None:
        """Take warnings and worse."""
        super().__init__(logging.WARNING)
        self._log = log
        self._spared = Spared()

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        if (besides := self._spared.pass_on()) is None:
            return
        error = record.exc_info[1] if record.exc_info else None
        fields = {"error": f"{type(error).__name__}: {error}"[:MAX_TEXT]} if error else {}
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        self._log.event(level, record.getMessage()[:MAX_TEXT], logger=record.name, **fields, **besides)


def standard_output() -> LineWriter:
    """Return a writer on the process's standard output, which others may close or exchange meanwhile.

    Raises:
        UsageError: it is closed; the next socket would get its number, and the log lines.
    """
    try:
        return LineWriter(os.dup(1))
    except OSError as error:
        raise UsageError(f"standard output: cannot be used: {error.strerror}; want somewhere for the log") from error
