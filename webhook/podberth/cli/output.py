"""The destination of output: stdout or a file; and stderr, where a command line talks."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from ..errors import UsageError


def talk(lines: Iterable[str]) -> None:
    """Write lines to stderr, each with the program's name."""
    for line in lines:
        print(f"podberth: {line}", file=sys.stderr, flush=True)  # noqa: T201 - stdout is data


def write(render: Callable[[TextIO], None], file: str) -> None:
    """Write to a file, or to stdout where ``file`` is empty.

    Raises:
        UsageError: it cannot be written.
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
        raise UsageError(f"-o: {file or 'stdout'}: cannot be written: {error.strerror or error}") from error


def write_text(text: str, file: str = "") -> None:
    """Write a text to a file, or to stdout where ``file`` is empty.

    Raises:
        UsageError: it cannot be written.
    """

    def render(stream: TextIO) -> None:
        stream.write(text)

    write(render, file)


def let_go() -> None:
    """Write no more to stdout, whose reader has gone; its buffer is dropped without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
