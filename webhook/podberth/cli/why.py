"""``podberth why``: prints why a pod waits, on one screen: the cause, the evidence, what to do, the next cause."""

import argparse
import asyncio
import gc
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from ..api.opening import namespace_of
from ..check.report.styled_lines import Line, Span
from ..cluster.why import read_picture
from ..why.causes import answer
from ..why.diagnosis import Answer
from ..words import lasting
from .access import add_kubeconfig, add_output, kubeconfig_of
from .exitcodes import ExitCode
from .output import write, write_text

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
        gc.freeze()  # as above: what is left is in use until the end
        gc.enable()
    if arguments.output == "json":
        write_text(json.dumps(found.as_json(), indent=2) + "\n")
    else:
        from .terminal import Terminal  # noqa: PLC0415 - what is not asked for is not loaded

        write(lambda stream: Terminal.of(stream).put(lines(found)), "")
    return ExitCode.OK


def lines(found: Answer) -> Iterator[Line]:
    """Yield the answer to ``podberth why`` as lines of text; the first line is the cause."""
    diagnosis = found.diagnosis
    waits = f" waits {lasting(found.waits_seconds)}" if diagnosis.waits and found.waits_seconds else ""
    style = "bold red" if diagnosis.waits else "bold"
    yield Line((Span(f"{found.subject}{waits}: ", "bold"), Span(diagnosis.title, style)), 2)
    if found.among:
        yield Line((Span(found.among),))
    if diagnosis.evidence or diagnosis.do:
        yield Line(())
    yield from _part("evidence", diagnosis.evidence)
    yield from _part("do", diagnosis.do, "green")
    yield from _part("then", [f"{number}. {each.title}" for number, each in enumerate(found.then, 1)])
    if found.said.message and diagnosis.cause != "scheduler's word":
        yield from _part("scheduler", [f"{found.said.scheduler}: {_brief(found.said.message)}"], "dim")
    if found.autoscaler.message:
        yield from _part("autoscaler", [f"{found.autoscaler.scheduler}: {found.autoscaler.message}"], "dim")
    yield from _part("not read", [f"{each.want}: {each.why}" for each in found.unread], "yellow")


def _brief(message: str) -> str:
    """Return the scheduler's message without the part about preemption.

    The whole message is in the JSON output.
    """
    return message.partition("preemption:")[0].rstrip(" ,")


def _part(name: str, texts: Sequence[str], style: str = "") -> Iterator[Line]:
    for number, text in enumerate(texts):
        lead = name if number == 0 else ""
        yield Line((Span(f"{lead:<{_COLUMNS}}", "bold"), Span(text, style)), _COLUMNS)
