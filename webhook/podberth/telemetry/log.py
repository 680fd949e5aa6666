"""The log of a process: one JSON object in each line. The module ``reviews`` writes a line for each review."""

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
from .line_writer import LineWriter

Level: TypeAlias = Literal["info", "warning", "error"]

# The longest string from a request in a line. A user name or uid may be as long as a request body.
MAX_TEXT = 512
# The limit for lines about requests without a decision; so many lines are enough to find an overloaded replica. At half
# a kilobyte a line they are 430 MB a day at most, which a stranger could otherwise cause in minutes. The kubelet keeps
# the last 50 MB.
_LINES_PER_SECOND: Final = 10.0
_BURST_LINES: Final = 100.0
_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z


class Log:
    """Encodes the fields of log lines as JSON and passes the lines to a writer."""

    def __init__(self, writer: LineWriter) -> None:
        """Create the log; closing ``writer`` is the caller's task."""
        self._writer = writer

    @property
    def dropped(self) -> int:
        """The number of lines that were lost because the reader of the log was too slow."""
        return self._writer.dropped

    def write(self, fields: dict[str, Any]) -> None:
        """Write one line of JSON; the caller puts the fields ``time`` and ``level`` first."""
        self._writer.write(encode(fields))

    def event(self, level: Level, message: str, **fields: Any) -> None:
        """Log an event of the process."""
        self.write({"time": datetime.now(UTC), "level": level, "msg": message, **fields})

    def fault(self, message: str, error: BaseException, **fields: Any) -> None:
        """Log a bug, with the traceback of ``error``."""
        lines = "".join(traceback.format_exception(error))
        self.event("error", message, error=f"{type(error).__name__}: {error}"[:MAX_TEXT], traceback=lines, **fields)


def encode(fields: dict[str, Any]) -> bytes:
    """Return the fields as one line of JSON; every type of value is accepted."""
    try:
        return orjson.dumps(fields, option=_OPTIONS)
    except TypeError:  # half a surrogate pair (a header), an integer beyond 64 bits
        plain = {key: repr(value)[:MAX_TEXT] for key, value in fields.items()}
        return orjson.dumps(plain, option=_OPTIONS)


class Spared:
    """Limits the rate of log lines that any client of a port can cause."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._room = Bucket(_BURST_LINES, 1 / _LINES_PER_SECOND)
        self._clock = clock
        self._left_out = 0

    def pass_on(self) -> dict[str, int] | None:
        """Return additional fields for the next log line, or None if the line must be left out.

        The only additional field is ``left_out``: the number of lines that were left out since the last written line,
        if not 0.
        """
        if not self._room.take(self._clock()):
            self._left_out += 1
            return None
        left_out, self._left_out = self._left_out, 0
        return {"left_out": left_out} if left_out else {}


class LibraryHandler(logging.Handler):
    """Writes log records of libraries as lines of podberth's log, with only the last line of a traceback.

    aiohttp logs a record for every client that sends something other than HTTP: a port scan would fill the log.
    """

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._spared = Spared()

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record of a library as a log line."""
        if (besides := self._spared.pass_on()) is None:
            return
        error = record.exc_info[1] if record.exc_info else None
        fields = {"error": f"{type(error).__name__}: {error}"[:MAX_TEXT]} if error else {}
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        self._log.event(level, record.getMessage()[:MAX_TEXT], logger=record.name, **fields, **besides)


def standard_output() -> LineWriter:
    """Return a writer that owns a copy of the standard output: other code may close or replace the original later.

    Raises:
        UsageError: the standard output is closed. A socket that is opened later would get the file descriptor of the
            standard output, and would receive all log lines.
    """
    try:
        return LineWriter(os.dup(1))
    except OSError as error:
        raise UsageError(f"standard output: cannot be used: {error.strerror}; want somewhere for the log") from error
