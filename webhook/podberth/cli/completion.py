"""``podberth completion``: a script that completes commands in a shell, made from the commands' parsers.

The script holds everything that can be completed, so that a key press starts no Python; print it again after an
upgrade. shtab, the library for this, does not support fish, and would have to be installed beside the command.
"""

import argparse

from .. import __version__
from .exitcodes import ExitCode
from .grammar import grammars
from .output import write_text

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.epilog = (
        "bash: source <(podberth completion bash). zsh: the same, behind compinit. "
        "fish: podberth completion fish > ~/.config/fish/completions/podberth.fish"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from .completion_scripts import SCRIPTS  # noqa: PLC0415 - what is not printed is not loaded
    from .main import parser_of_everything  # noqa: PLC0415 - the table of commands has this one, too

    write_text(SCRIPTS[arguments.shell](tuple(grammars(parser_of_everything())), __version__))
    return ExitCode.OK
