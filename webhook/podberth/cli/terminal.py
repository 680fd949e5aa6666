"""Prints text to a terminal: width, colour, wrapped lines, aligned columns.

Only this module imports rich. Commands that print data for programs do not import this module, because importing rich
takes time.
"""

import io
import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Final, TextIO

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from ..check.report.styled_lines import Line, Span, inert, visible

PIPED_COLUMNS: Final = 100
"""The width in columns of headings and pictures in a CI log or a file, where lines of text are not wrapped."""
# Longer than any row of a table
_UNWRAPPED: Final = 10_000
_NARROWEST: Final = 40
_NO_BREAK: Final = "\u00a0"
# Colours without a background, for light and dark terminals.
_MARKDOWN: Final = Theme({"markdown.code": "bold", "markdown.code_block": "none", "markdown.h1": "bold"})
# rich breaks at every blank, no-break ones too; a character of the private use area is not a blank
_HELD: Final = "\ue0ff"


def columns(text: str) -> int:
    """Return the number of columns that a line of text takes: 2 for a wide character, 0 for a combining character."""
    return cell_len(text)


def cut(text: str, room: int) -> str:
    """Return the beginning of a line that fits into ``room`` columns; a mark ends a truncated line."""
    line = Text(text)
    line.truncate(max(room, 1), overflow="ellipsis")
    return line.plain


class Terminal:
    """An output stream, with the width in columns and whether colours are shown."""

    def __init__(self, stream: TextIO, *, colour: bool, width: int, wraps: bool = True) -> None:
        """Create the terminal that writes to ``stream``; if ``wraps``, lines have at most ``width`` columns."""
        self.width = width
        self._wraps = wraps
        self._stream = stream
        self._colours = ColorSystem.STANDARD if colour else None
        self._console = Console(
            file=stream,
            color_system="standard" if colour else None,
            force_terminal=colour,
            no_color=False,
            width=width,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )
        self._dash = "─" if self.has("─") else "-"

    @classmethod
    def of(cls, stream: TextIO) -> "Terminal":
        """Return the Terminal for a stream, with colours only on a terminal, without NO_COLOR (no-color.org).

        Lines are wrapped on a terminal only: grep and a CI log take each message whole.
        """
        if isinstance(stream, io.TextIOWrapper):
            # If the locale lacks a character, its code is better than no text
            stream.reconfigure(errors="backslashreplace")
        on_terminal = stream.isatty()
        colour = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        columns = shutil.get_terminal_size((PIPED_COLUMNS, 24)).columns if on_terminal else PIPED_COLUMNS
        return cls(stream, colour=colour, width=max(_NARROWEST, columns), wraps=on_terminal)

    def put(self, lines: Iterable[Line]) -> None:
        """Print lines, wrapped if too long for a terminal; control characters are printed as visible text."""
        for line in lines:
            for row in self._wrapped(line):
                self._write(row)
        self._stream.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line, wrapped if too long."""
        self.put([Line((Span(text, style),))])

    def paragraph(self, text: str, style: str = "", *, first: Sequence[Span] = (), hanging: int | None = None) -> None:
        """Print ``first`` and then ``text`` as one line, which is wrapped if too long.

        Continuation lines are indented by ``hanging`` columns; if None, to the column where ``text`` begins.
        """
        lead = sum(len(span.text) for span in first)
        self.put([Line((*first, Span(text, style)), lead if hanging is None else hanging)])

    def heading(self, text: str) -> None:
        """Print a heading."""
        dash = self._dash
        rest = dash * max(0, self.width - len(text) - 4)
        self.put([Line(()), Line((Span(f"{dash * 2} {text} ", "bold cyan"), Span(rest, "cyan")))])

    def markdown(self, text: str) -> None:
        """Print Markdown, formatted."""
        from rich.markdown import Markdown  # noqa: PLC0415 - it imports parsers, which only pages of documentation need

        with self._console.use_theme(_MARKDOWN):
            self._console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))

    def has(self, characters: str) -> bool:
        """Return whether the encoding of the stream can represent ``characters``."""
        encoding = self._stream.encoding or "utf-8"
        return characters.encode(encoding, "ignore").decode(encoding) == characters

    def table(self, rows: Sequence[Sequence[str | Span]], *, indent: str = "") -> None:
        """Print rows in aligned columns; the first row is the head, and long cells are wrapped inside the column."""
        head, *body = rows
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for cell in head:
            table.add_column(_cell(cell), overflow="fold")
        for row in body:
            table.add_row(*map(_cell, row))
        options = self._console.options.update_width((self.width if self._wraps else _UNWRAPPED) - len(indent))
        for segments in self._console.render_lines(table, options, pad=False):
            written = Text.assemble(indent, *((part.text, part.style or "") for part in segments))
            written.rstrip()
            self._write(written)
        self._stream.flush()

    def _write(self, row: Text) -> None:
        """Print a row that fits into the width of the terminal.

        The method of the library rich would measure the row again, at three times the cost.
        """
        if self._colours is None:
            self._stream.write(f"{row.plain}\n")
            return
        segments = row.render(self._console)
        painted = (
            part.style.render(part.text, color_system=self._colours) if part.style else part.text for part in segments
        )
        self._stream.write("".join(painted) + "\n")

    def _wrapped(self, line: Line) -> list[Text]:
        text = Text.assemble(
            *((inert(visible(span.text)).replace(_NO_BREAK, _HELD), span.style) for span in line.spans)
        )
        if not self._wraps or len(text) <= line.hanging or text.cell_len <= self.width:
            return [_released(text)]
        _, rest = text.divide([line.hanging])
        first, *rows = rest.wrap(self._console, self.width - line.hanging, overflow="fold")
        margin = Text(" " * line.hanging)
        # Cut from the whole, so that no style ends and begins again within the text
        return [_released(text[: line.hanging + len(first)]), *(_released(margin + row) for row in rows)]


def _cell(cell: str | Span) -> Text:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return Text(inert(visible(text)), style)


def _released(text: Text) -> Text:
    """Return a wrapped row with ordinary spaces in place of no-break spaces.

    A row that starts with ``::`` gets a backslash. Folding a long word can produce such a row, and a CI runner would
    take the row for a command.
    """
    text.plain = text.plain.replace(_HELD, " ")
    text.rstrip()
    return Text("\\") + text if text.plain.lstrip().startswith("::") else text
