"""The entry points of ``python -m podberth``, of the program ``podberth``, and of podberth's two plugins of kubectl.

kubectl finds the plugins by their names: ``kubectl-podberth`` and ``kubectl_complete-podberth``.
"""

import os
import sys
from pathlib import PurePath

from .cli.main import PROGRAM
from .cli.main import main as run

_PLUGIN = "kubectl-podberth"
"""The program name that makes kubectl run this program for ``kubectl podberth``.

https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
"""


def main() -> None:
    """Run the command line and exit with the command's exit code."""
    _open_closed_streams()
    plugin = PurePath(sys.argv[0]).stem == _PLUGIN
    sys.exit(run(sys.argv[1:], "kubectl podberth" if plugin else PROGRAM))


def _open_closed_streams() -> None:
    """Replace a stream that the caller has closed (``>&-``), which is None in Python.

    Messages are then lost, and not written into the data on stdout. Writing to stdout is an error (EBADF).
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def complete() -> None:
    """Print the completions of a command line that begins with ``kubectl podberth``.

    The program ``kubectl`` starts podberth to get the completions.
    """
    from .cli.completion import answer  # noqa: PLC0415 - it loads every command

    sys.stdout.write(answer(sys.argv[1:]))


if __name__ == "__main__":
    main()
