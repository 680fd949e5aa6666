"""``podberth status``: the state of podberth in a cluster, on one screen, with the lines that need attention."""

import argparse
import asyncio
import json
from datetime import UTC, datetime

from ..api.opening import Kubeconfig
from ..cluster.installation import open_status
from ..installation.model import Report
from ..installation.report import judge
from .access import add_kubeconfig, kubeconfig_of
from .exitcodes import ExitCode
from .output import write


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_kubeconfig(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="its form (default text)")
    parser.epilog = "Exit code 1: something needs attention, or could not be read; each such line begins with ! or ?."


def run(arguments: argparse.Namespace) -> int:
    """Read the cluster and print the report."""
    report = asyncio.run(_look(kubeconfig_of(arguments)))
    if arguments.output == "json":
        write(lambda stream: print(json.dumps(report.as_json(), indent=2), file=stream), "")
    else:
        from .status_text import show_status  # noqa: PLC0415 - what is not asked for is not loaded
        from .terminal import Terminal  # noqa: PLC0415

        write(lambda stream: show_status(report, Terminal.of(stream)), "")
    return ExitCode.FINDINGS if report.troubles else ExitCode.OK


async def _look(kubeconfig: Kubeconfig | None) -> Report:
    reader = open_status(kubeconfig)
    try:
        return judge(await reader.read(datetime.now(UTC)))
    finally:
        await reader.close()
