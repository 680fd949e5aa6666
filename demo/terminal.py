"""Text for a terminal: width, colour, wrapping, aligned columns, and progress on stderr. No words of its own."""

import io
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from typing import TextIO

# Readable on a screen, in a log of CI and in a document alike.
_WIDEST, _NARROWEST = 100, 72
# ECMA-48, select graphic rendition.
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_NO_BREAK = "\u00a0"
_ESCAPE = re.compile(r"\x1b\[\d*m")


class Terminal:
    """Where text goes, how wide it may be, and whether colours are shown there."""

    def __init__(self, stream: TextIO, *, colour: bool, width: int) -> None:
        """Write to ``stream``; lines are at most ``width`` columns."""
        self._stream = stream
        self._colour = colour
        self.width = width

    @classmethod
    def of(cls, stream: TextIO) -> "Terminal":
        """Look at the stream and the environment: colour on a terminal only, and not under NO_COLOR (no-color.org)."""
        if isinstance(stream, io.TextIOWrapper):
            # Where the locale has no lines and dashes, better a "?" than none of it.
            stream.reconfigure(errors="replace")
        on_terminal = stream.isatty()
        colour = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        columns = shutil.get_terminal_size((_WIDEST, 24)).columns if on_terminal else _WIDEST
        return cls(stream, colour=colour, width=max(_NARROWEST, min(_WIDEST, columns)))

    def paint(self, text: str, *styles: str) -> str:
        """Return the text in these styles, or as it is where colours are not shown."""
        if not self._colour or not styles or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def line(self, text: str = "", *styles: str) -> None:
        """Write one line, cut at the width."""
        shown = text if _columns(text) <= self.width else text[: self.width - 1] + "…"
        self._stream.write(f"{self.paint(shown, *styles)}\n")
        self._stream.flush()

    def paragraph(self, text: str, *styles: str, first: str = "", rest: str | None = None) -> None:
        """Write text over as many lines as it needs, the first one behind ``first``, the others behind ``rest``.

        A no-break space holds words together, and is written as a common one.
        """
        hanging = " " * _columns(first) if rest is None else rest
        # Wrapped behind blanks of the same width, which then make room for what is painted.
        initial = " " * _columns(first)
        parts = textwrap.wrap(
            text, self.width, initial_indent=initial, subsequent_indent=hanging, break_on_hyphens=False
        )
        for number, part in enumerate(parts or [initial]):
            start, seen = (first, len(initial)) if number == 0 else (hanging, len(hanging))
            shown = part[seen:].replace(_NO_BREAK, " ")
            self._stream.write(f"{start}{self.paint(shown, *styles)}\n")
        self._stream.flush()

    def heading(self, text: str) -> None:
        """Write a line that opens a section."""
        self._stream.write("\n" + self.paint(f"── {text} ", "bold", "cyan"))
        self._stream.write(self.paint("─" * max(0, self.width - len(text) - 4), "cyan") + "\n")
        self._stream.flush()

    def table(self, rows: Sequence[Sequence[str]], *, indent: str = "") -> None:
        """Write rows in aligned columns, the first one as head; the last column takes what is left of the width."""
        widths = [max(_columns(row[column]) for row in rows) for column in range(len(rows[0]))]
        for number, row in enumerate(rows):
            cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
            self.line((indent + "  ".join(cells)).rstrip(), *(("bold",) if number == 0 else ()))


class Progress:
    """What is going on, on stderr, with the seconds since the start."""

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


def _columns(text: str) -> int:
    """Count what is seen of a text."""
    return len(_ESCAPE.sub("", text))
