"""``podberth docs``: prints a page of the documentation, which the package brings."""

import argparse
import sys

from ..errors import UsageError
from ..files.documentation import MAP, names, page, search
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
        help="print the sections that answer a question or have these words, as PAGE#SECTION, best first",
    )
    parser.add_argument("--list", action="store_true", help="print the names of all pages")


def run(arguments: argparse.Namespace) -> int:
    """Print the page and return the exit code: formatted on a terminal, else as Markdown."""
    if arguments.list:
        write_text("".join(f"{name}\n" for name in names()))
        return ExitCode.OK
    if arguments.search is not None:
        words = " ".join(arguments.search)
        places, complete = search(words)
        if not places:
            raise UsageError(f"docs: --search: got {words!r}, which no section has; want other words")
        if not complete:
            talk(["docs: --search: no section has all of the words; these have the rarest of them"])
        write_text("".join(f"{each}\n" for each in places))
        return ExitCode.OK
    text = page(arguments.page)
    if not sys.stdout.isatty():
        write_text(text)
        return ExitCode.OK
    from .terminal import Terminal  # noqa: PLC0415 - rich takes a while, and only people on a terminal need it

    write(lambda stream: Terminal.of(stream).markdown(text), "")
    return ExitCode.OK
