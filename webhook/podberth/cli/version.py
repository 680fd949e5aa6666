"""``podberth version``."""

import argparse

from .. import __version__
from .exitcodes import ExitCode


def configure(_: argparse.ArgumentParser) -> None:
    """Take no arguments."""


def run(_: argparse.Namespace) -> int:
    """Print the version."""
    print(__version__)  # noqa: T201 - the command's output
    return ExitCode.OK
