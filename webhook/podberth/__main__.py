"""``python -m podberth`` and the console scripts: podberth's own, and those that kubectl finds by their names."""

import sys
from pathlib import PurePath

from .cli.main import PROGRAM
from .cli.main import main as run

_PLUGIN = "kubectl-podberth"
"""https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/: ``kubectl podberth`` runs what is called so."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    plugin = PurePath(sys.argv[0]).stem == _PLUGIN
    sys.exit(run(sys.argv[1:], "kubectl podberth" if plugin else PROGRAM))


def complete() -> None:
    """Answer kubectl, which asks how the words behind ``kubectl podberth`` can go on."""
    from .cli.completion import answer  # noqa: PLC0415 - it loads every command

    sys.stdout.write(answer(sys.argv[1:]))


if __name__ == "__main__":
    main()
