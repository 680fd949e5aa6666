"""``podberth policies``: lists and copies the shipped policies, writes a first policy, prints the schema."""

import argparse
from pathlib import Path

from ..files.first_policy import KINDS, start
from ..files.library import copy, named, schema, shipped
from .exitcodes import ExitCode
from .output import write_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of ``podberth policies``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="print every policy: its name, whether it is on by default, its description")
    show = actions.add_parser("show", help="print a policy and its parameters")
    show.add_argument("name", metavar="POLICY")
    take = actions.add_parser("copy", help="copy a policy with its parameters and tests into a folder below DIR")
    take.add_argument("name", metavar="POLICY")
    take.add_argument("directory", metavar="DIR", type=Path)
    first = actions.add_parser("init", help="write a first policy of your own, with parameters and tests, below DIR")
    first.add_argument("name", metavar="NAME", help="the policy's name, and the folder's")
    first.add_argument(
        "directory", metavar="DIR", type=Path, nargs="?", default=Path("policies"), help="(default policies)"
    )
    first.add_argument("--kind", choices=KINDS, default="both", help="the kind of policy (default both)")
    actions.add_parser("schema", help="print the JSON Schema of a policy, for editors")


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand and return the exit code; results and the paths of written files go to stdout."""
    match arguments.action:
        case "list":
            library = shipped()
            width = max(len(each.name) for each in library)
            lines = [f"{each.name:{width}}  {'on ' if each.on else 'off'}  {each.description}" for each in library]
        case "show":
            lines = ["---\n".join(named(arguments.name).texts).rstrip("\n")]
        case "copy":
            lines = [str(copy(named(arguments.name), arguments.directory))]
        case "init":
            folder = start(arguments.name, arguments.kind, arguments.directory)
            lines = [str(file) for file in sorted(folder.iterdir())]
        case _:
            lines = [schema().rstrip("\n")]
    write_text("\n".join(lines) + "\n")
    return ExitCode.OK
