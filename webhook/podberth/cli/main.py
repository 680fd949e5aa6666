"""The entry: finds the command, and turns what it raises into a message and an exit code.

stdout is data, stderr is talk.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from .. import __version__
from ..errors import PodberthError
from .exitcodes import ExitCode, code_of


class CommandModule(Protocol):
    """What the module of a command has."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; return an exit code or raise a PodberthError."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table. ``module`` is imported when the command is called: --help should not wait for aiohttp."""

    name: str
    module: str
    help: str


COMMANDS: tuple[Command, ...] = (
    Command("serve", ".serve", "answer the API server's reviews"),
    Command("check", ".check", "decide on manifests without a cluster, as the webhook would"),
    Command("test", ".test", "run the tests beside policies"),
    Command("explain", ".explain", "say why a pod comes out as it does"),
    Command("agent", ".agent", "read this node's accelerators and print their topology"),
    Command("policies", ".policies", "list, show and copy the policies that podberth ships"),
    Command("version", ".version", "print the version"),
)


def main(argv: Sequence[str]) -> int:
    """Run a command line, without the program's name; return the exit code."""
    try:
        return _run(argv)
    except PodberthError as error:
        for line in str(error).splitlines():
            print(f"podberth: {line}", file=sys.stderr)  # noqa: T201 - stderr is where a command line talks
        return code_of(error)
    except SystemExit as end:  # argparse: 0 after --help, 2 after a wrong flag
        return end.code if isinstance(end.code, int) else ExitCode.OK


def _run(argv: Sequence[str]) -> int:
    named = {command.name: command for command in COMMANDS}
    command = named.get(argv[0]) if argv else None
    if command is None:
        parser = _parser()
        parser.parse_args(argv)
        parser.print_help(sys.stderr)
        return ExitCode.USAGE
    module = cast("CommandModule", import_module(command.module, __package__))
    parser = argparse.ArgumentParser(prog=f"podberth {command.name}", description=command.help, allow_abbrev=False)
    module.configure(parser)
    return module.run(parser.parse_args(argv[1:]))


def _parser() -> argparse.ArgumentParser:
    """Return the parser for everything but a command: help, the version, mistakes."""
    parser = argparse.ArgumentParser(
        prog="podberth",
        description="Gives every GPU pod its berth: an admission webhook and policy engine for Kubernetes.",
        epilog="podberth COMMAND --help says more. Exit codes: 0 ok, 1 findings, 2 usage or configuration, "
        "3 cluster or device.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"podberth {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in COMMANDS:
        commands.add_parser(command.name, help=command.help)
    return parser
