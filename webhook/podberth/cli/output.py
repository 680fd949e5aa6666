"""Writes output to stdout or to a file, and messages to stderr."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from ..check.report.styled_lines import inert, visible
from ..errors import UsageError


def talk(lines: Iterable[str]) -> None:
    """Write messages to stderr, each on one line that is prefixed with the program's name.

    Messages quote names of files and keys of documents that others wrote. Control characters are written as visible
    text, and nothing is written that a CI service would read as a command.
    """
    for line in lines:
        print(f"podberth: {inert(visible(line))}", file=sys.stderr, flush=True)  # noqa: T201 - stdout is data


def write(render: Callable[[TextIO], None], file: str) -> None:
    """Write the output of ``render`` to a file, or to stdout if ``file`` is empty.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        if file:
            with Path(file).open("w", encoding="utf-8", errors="backslashreplace") as stream:
                render(stream)
        else:
            render(sys.stdout)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed its end
        let_go()
    except OSError as error:
        if not file:
            let_go()
        raise UsageError(f"-o: {file or 'stdout'}: cannot be written: {error.strerror or error}") from error


def write_text(text: str, file: str = "") -> None:
    """Write a text to a file, or to stdout if ``file`` is empty.

    Raises:
        UsageError: the file cannot be written.
    """

    def render(stream: TextIO) -> None:
        stream.write(text)

    write(render, file)


def let_go() -> None:
    """Discard what stdout has buffered, so that the end of the process does not try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
