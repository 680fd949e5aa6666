"""``podberth why``: prints why a pod waits, on one screen: the cause, the evidence, what to do, the next cause."""

import argparse
import asyncio
import gc
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ..api.opening import namespace_of
from ..check.report.styled_lines import Line, Span
from ..cluster.why import read_picture
from ..why.causes import answer
from ..why.diagnosis import Answer
from ..words import lasting
from .access import add_kubeconfig, add_output, kubeconfig_of
from .exitcodes import ExitCode
from .output import write, write_text

if TYPE_CHECKING:
    from .terminal import Terminal

_COLUMNS: Final = 11


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``podberth why``."""
    parser.add_argument("name", metavar="NAME", help="a pod, or a workload as KIND/NAME: job/train")
    parser.add_argument("-n", "--namespace", metavar="NAME", default="", help="(default: the context's namespace)")
    add_kubeconfig(parser)
    add_output(parser)
    parser.epilog = "Exit code 0: there is an answer, whatever it says."


def run(arguments: argparse.Namespace) -> int:
    """Read the cluster, print why the pod waits, and return the exit code."""
    kubeconfig = kubeconfig_of(arguments)
    namespace = arguments.namespace or namespace_of(kubeconfig)
    gc.disable()  # a collection walks every pod of the cluster, and finds nothing
    try:
        found = answer(asyncio.run(read_picture(kubeconfig, arguments.name, namespace, datetime.now(UTC))))
    finally:
        gc.enable()
    if arguments.output == "json":
        write_text(json.dumps(found.as_json(), indent=2) + "\n")
    else:
        from .terminal import Terminal  # noqa: PLC0415 - what is not asked for is not loaded

        write(lambda stream: show_answer(found, Terminal.of(stream)), "")
    return ExitCode.OK


def show_answer(found: Answer, terminal: "Terminal") -> None:
    """Print the answer to ``podberth why`` as text; the first line is the cause."""
    diagnosis = found.diagnosis
    waits = f" waits {lasting(found.waits_seconds)}" if diagnosis.waits and found.waits_seconds else ""
    style = "bold red" if diagnosis.waits else "bold"
    terminal.put([Line((Span(f"{found.subject}{waits}: ", "bold"), Span(diagnosis.title, style)), 2)])
    if found.among:
        terminal.put([Line((Span(found.among),))])
    if diagnosis.evidence or diagnosis.do:
        terminal.line()
    _part(terminal, "evidence", diagnosis.evidence)
    _part(terminal, "do", diagnosis.do, "green")
    _part(terminal, "then", [f"{number}. {each.title}" for number, each in enumerate(found.then, 1)])
    if found.said.message and diagnosis.cause != "scheduler's word":
        _part(terminal, "scheduler", [f"{found.said.scheduler}: {_brief(found.said.message)}"], "dim")
    _part(terminal, "not read", [f"{each.want}: {each.why}" for each in found.unread], "yellow")


def _brief(message: str) -> str:
    """Return the scheduler's message without the part about preemption.

    The whole message is in the JSON output.
    """
    return message.partition("preemption:")[0].rstrip(" ,")


def _part(terminal: "Terminal", name: str, lines: "tuple[str, ...] | list[str]", style: str = "") -> None:
    for number, text in enumerate(lines):
        lead = name if number == 0 else ""
        terminal.put([Line((Span(f"{lead:<{_COLUMNS}}", "bold"), Span(text, style)), _COLUMNS)])
