"""``podberth policies``: lists and copies the shipped policies, writes a first policy, bundles a folder of policies."""

import argparse
from pathlib import Path

from ..files.first_policy import KINDS, start
from ..files.library import copy, named, schema, shipped, to_copy
from ..kube.yaml_text import as_yaml
from .exitcodes import ExitCode
from .output import talk, write_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of ``podberth policies``."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="print every policy: its name, whether it is on by default, its description")
    show = actions.add_parser("show", help="print a policy and its parameters")
    show.add_argument("name", metavar="POLICY", help="a policy that podberth ships, as list prints it")
    take = actions.add_parser("copy", help="copy policies or recipes, with params and tests, into folders below DIR")
    take.add_argument("names", metavar="POLICY", nargs="+", help="a policy that podberth ships, or a recipe")
    take.add_argument("directory", metavar="DIR", type=Path, help="where a folder is made for each of them")
    first = actions.add_parser("init", help="write a first policy of your own, with parameters and tests, below DIR")
    first.add_argument("name", metavar="NAME", help="the policy's name, and the folder's")
    first.add_argument(
        "directory", metavar="DIR", type=Path, nargs="?", default=Path("policies"), help="(default policies)"
    )
    first.add_argument("--kind", choices=KINDS, default="both", help="the kind of policy (default both)")
    pack = actions.add_parser("bundle", help="print the ConfigMap of a folder of policies, as the webhook reads it")
    pack.add_argument("directory", metavar="FOLDER", type=Path, help="the folder of your policies")
    pack.add_argument("--alone", action="store_true", help="for a webhook without the shipped policies (own-policies)")
    actions.add_parser("schema", help="print the JSON Schema of a policy, for editors")


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand of ``podberth policies`` and return the exit code; results go to stdout."""
    match arguments.action:
        case "list":
            library = shipped()
            width = max(len(each.name) for each in library)
            lines = [f"{each.name:{width}}  {'on ' if each.on else 'off'}  {each.description}" for each in library]
        case "show":
            found = named(arguments.name)
            if found.name != arguments.name:
                talk([f"policies: {arguments.name} is in the file of {found.name}"])
            lines = ["---\n".join(found.texts).rstrip("\n")]
        case "copy":
            chosen = [to_copy(name) for name in arguments.names]  # a wrong name copies nothing
            lines = [str(copy(each, arguments.directory)) for each in chosen]
        case "init":
            lines = [str(file) for file in start(arguments.name, arguments.kind, arguments.directory)]
        case "bundle":
            from ..files.bundle import bundle  # noqa: PLC0415 - it compiles, for which the others do not wait

            lines = [as_yaml(bundle(arguments.directory, alone=arguments.alone)).rstrip("\n")]
        case _:
            lines = [schema().rstrip("\n")]
    write_text("\n".join(lines) + "\n")
    return ExitCode.OK
