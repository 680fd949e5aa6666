"""``podberth policies``: the library of policies, to look at and to copy."""

import argparse
import sys
from pathlib import Path

from ..cluster.library import copy, named, shipped
from .exitcodes import ExitCode


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what can be done with the library."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="print every policy: its name, whether it is on by default, what it is for")
    show = actions.add_parser("show", help="print a policy and its parameters")
    show.add_argument("name", metavar="NAME")
    take = actions.add_parser("copy", help="copy a policy with its parameters and tests into a folder below DIR")
    take.add_argument("name", metavar="NAME")
    take.add_argument("directory", metavar="DIR", type=Path)


def run(arguments: argparse.Namespace) -> int:
    """Do it; what is asked for goes to stdout, and where a copy went too."""
    match arguments.action:
        case "list":
            library = shipped()
            width = max(len(each.name) for each in library)
            lines = [f"{each.name:{width}}  {'on ' if each.on else 'off'}  {each.description}" for each in library]
        case "show":
            lines = ["---\n".join(named(arguments.name).texts).rstrip("\n")]
        case _:
            lines = [str(copy(named(arguments.name), arguments.directory))]
    sys.stdout.write("\n".join(lines) + "\n")
    return ExitCode.OK
