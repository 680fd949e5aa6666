"""``podberth version``: prints the version."""

import argparse

from .. import __version__
from .exitcodes import ExitCode


def configure(_: argparse.ArgumentParser) -> None:
    """Add no arguments, because the command takes none."""


def run(_: argparse.Namespace) -> int:
    """Print the version and return the exit code."""
    print(__version__)  # noqa: T201 - the command's output
    return ExitCode.OK
