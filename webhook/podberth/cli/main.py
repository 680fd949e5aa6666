"""The entry point of ``podberth``: runs the command, and turns the command's errors into messages and exit codes.

Results are written to stdout, messages to stderr.
"""

import argparse
import gc
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol, cast

from .. import __version__
from ..errors import PodberthError
from ..words import did_you_mean
from .exitcodes import ExitCode, code_of
from .output import talk


class CommandModule(Protocol):
    """The interface of a module that implements a command."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments to ``parser``."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command and return the exit code, or raise a PodberthError."""


@dataclass(frozen=True, slots=True)
class Command:
    """A row in the table of commands. ``module`` is imported only when the command runs, so that --help is fast."""

    name: str
    module: str
    help: str
    also: str = ""
    """A second name of the command, which help does not show."""


COMMANDS: tuple[Command, ...] = (
    Command("serve", ".serve", "answer the API server's reviews"),
    Command("check", ".check", "check manifests without a cluster, with the webhook's decisions"),
    Command("test", ".test", "run the tests beside policies"),
    Command("lint", ".lint", "find the problems of policies, without a pod"),
    Command("lsp", ".lsp", "serve an editor: findings, completion and explanations while policies are written"),
    Command("convert", ".convert", "write policies as native ones, and native policies as podberth's"),
    Command("explain", ".explain", "explain the decision on a pod, policy by policy"),
    Command("playground", ".playground", "serve a local page that shows what policies do while they are written"),
    Command("agent", ".agent", "read this node's accelerators and publish their topology"),
    Command("controller", ".controller", "create the PodGroups that pods wait for, and report missing ones"),
    Command("certs", ".certs", "show the certificate authorities of a cluster, and rotate them"),
    Command("status", ".status", "report podberth's installation in a cluster: health, stale data, expiry, denials"),
    Command("why", ".why", "say why a pod or a workload's pods wait, with the evidence and what to do"),
    Command("topology", ".topology", "show a cluster's GPUs, save a snapshot of them, compare two snapshots"),
    Command("plan", ".plan", "plan the MIG layouts of a fleet for a demand"),
    Command(
        "policies",
        ".policies",
        "show and copy the policies that podberth ships, write a first one of your own",
        also="policy",
    ),
    Command("docs", ".docs", "print a page of the documentation, as docs/status.md where a message names it"),
    Command("completion", ".completion", "print a script that completes commands in a shell"),
    Command("version", ".version", "print the version"),
)


PROGRAM: Final = "podberth"


class _Parser(argparse.ArgumentParser):
    """A parser whose message about an unknown flag says what was probably meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse as ``argparse`` does, and end with an error if an argument is unknown."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}{_meant(rest[0], self)}")
        return found, rest


def main(argv: Sequence[str], program: str = PROGRAM) -> int:
    """Run the command line ``argv`` and return the exit code; help and errors name the program ``program``."""
    try:
        return _run(argv, program)
    except PodberthError as error:
        talk(str(error).splitlines())
        return code_of(error)
    except SystemExit as end:  # argparse: 0 after --help, 2 after a wrong flag
        return end.code if isinstance(end.code, int) else ExitCode.OK


def _run(argv: Sequence[str], program: str) -> int:
    if argv and argv[0] == "help":
        argv = [*argv[1:2], "--help"]
    named = {command.name: command for command in COMMANDS}
    meant = {command.also: command for command in COMMANDS if command.also} | named
    command = meant.get(argv[0]) if argv else None
    if command is None:
        parser = _parser(program)
        if argv and not argv[0].startswith("-"):
            parser.error(_unknown(argv[0], named))
        parser.parse_args(argv)
        parser.print_help(sys.stderr)
        return ExitCode.USAGE
    # Plugins of pydantic would see every document, and looking for them reads the metadata of all installed packages.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    gc.disable()  # importing makes no garbage, and a collection takes 20 ms
    module = cast("CommandModule", import_module(command.module, __package__))
    gc.freeze()
    gc.enable()
    parser = _Parser(prog=f"{program} {command.name}", description=command.help, allow_abbrev=False)
    module.configure(parser)
    return module.run(parser.parse_args(argv[1:]))


def _meant(flag: str, parser: argparse.ArgumentParser) -> str:
    """Return the advice about an unknown flag: the argument that has the policies, or the most similar flag."""
    name = flag.partition("=")[0]
    actions = parser._actions  # noqa: SLF001 - argparse has no other list of a parser's arguments
    paths = [each.metavar for each in actions if not each.option_strings and "polic" in (each.help or "")]
    if name in ("--policies", "--policy", "-p"):
        return f"; name the policies without a flag, as {paths[0]}" if paths else ""
    known = [flag for each in actions for flag in each.option_strings]
    return did_you_mean(name, known) if name.startswith("--") else ""


def parser_of_everything() -> argparse.ArgumentParser:
    """Import all commands; return a parser with every command's arguments, for documentation and completion."""
    parser = _parser(PROGRAM)
    commands = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001 - made below
    for command in COMMANDS:
        cast("CommandModule", import_module(command.module, __package__)).configure(commands.choices[command.name])
    return parser


def _unknown(name: str, known: Iterable[str]) -> str:
    names = tuple(known)
    return f"COMMAND: got {name!r}, want one of {', '.join(names)}{did_you_mean(name, names)}"


def _parser(program: str) -> argparse.ArgumentParser:
    """Return the parser for a command line without a valid command, which prints help, the version or an error."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Gives every GPU pod its berth: an admission webhook and policy engine for Kubernetes.",
        epilog=f"Begin with: {program} policies init NAME; {program} test. {program} COMMAND --help says more, "
        f"and {program} docs the rest. "
        "Exit codes: 0 ok, 1 findings, 2 usage or configuration, 3 cluster or device.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in COMMANDS:
        commands.add_parser(command.name, help=command.help)
    return parser
