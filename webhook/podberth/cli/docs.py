"""``podberth docs``: prints a page of the documentation, which the package brings."""

import argparse
import shutil
import sys
from collections.abc import Iterator
from textwrap import shorten

from ..errors import UsageError
from ..files.documentation import MAP, Section, names, page, search
from .exitcodes import ExitCode
from .output import talk, write, write_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``podberth docs``."""
    parser.add_argument(
        "page",
        metavar="PAGE[#SECTION]",
        nargs="?",
        default=MAP,
        help="a page, as status or docs/status.md, or a section of it, as status#let-through (default: the map of all)",
    )
    parser.add_argument(
        "--search",
        metavar="WORD",
        nargs="+",
        help="print the sections that answer a question or have these words, best first, each with its first words",
    )
    parser.add_argument("--list", action="store_true", help="print the names of all pages")


def run(arguments: argparse.Namespace) -> int:
    """Print the page and return the exit code: formatted on a terminal, else as Markdown."""
    if arguments.list:
        write_text("".join(f"{name}\n" for name in names()))
        return ExitCode.OK
    if arguments.search is not None:
        words = " ".join(arguments.search)
        sections, complete = search(words)
        if not sections:
            raise UsageError(f"docs: --search: got {words!r}, which no section has; want other words")
        if not complete:
            talk(["docs: --search: no section has all of the words; these have the rarest of them"])
        write_text("".join(_hits(sections)))
        return ExitCode.OK
    text = page(arguments.page)
    if not sys.stdout.isatty():
        write_text(text)
        return ExitCode.OK
    from .terminal import Terminal  # noqa: PLC0415 - rich takes a while, and only people on a terminal need it

    write(lambda stream: Terminal.of(stream).markdown(text), "")
    return ExitCode.OK


def _hits(sections: list[Section]) -> Iterator[str]:
    """Yield a line for each section that fits on the terminal, or into 160 columns of a pipe."""
    columns = shutil.get_terminal_size((160, 24)).columns
    widest = max(len(each.place) for each in sections)
    for each in sections:
        words = f"{each.title}: {each.opening}".removesuffix(": ")
        yield f"{each.place:{widest}}  {shorten(words, max(columns - widest - 2, 20), placeholder='...')}\n"
