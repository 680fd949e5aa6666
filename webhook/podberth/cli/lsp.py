"""``podberth lsp``: the language server of policies, which an editor starts."""

import argparse

from ..errors import UsageError, without_extra
from ..files.loading import read_pod_schema
from .access import cluster_files_of
from .exitcodes import ExitCode
from .lint import LEVELS, add_rules
from .simulated import facts_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags that ``podberth lint`` has for its rules, and the flag that some editors add."""
    add_rules(parser)
    parser.add_argument("--stdio", action="store_true", help="speak over standard input and output, as always")


def run(arguments: argparse.Namespace) -> int:
    """Answer the editor until it ends the conversation, and return the exit code.

    The exit code is FINDINGS if the editor ends the process without a request to shut down, as the protocol wants.

    Raises:
        UsageError: the library that speaks the protocol is not installed, or a file of the flags cannot be used.
    """
    try:
        from ..lsp.protocol import PolicyServer  # noqa: PLC0415 - its library is an extra
    except ModuleNotFoundError as error:
        raise UsageError(f"lsp: {without_extra(error, 'lsp')}") from error
    from ..lsp.diagnosing import Cluster  # noqa: PLC0415 - as above

    facts = facts_of(arguments)
    cluster = Cluster(
        pod_schema=read_pod_schema(arguments.pod_schema),
        conventions=cluster_files_of(arguments).names(),
        nodes=None if facts is None else facts.nodes,
        level=LEVELS[arguments.level],
    )
    return ExitCode.OK if PolicyServer(cluster).serve() else ExitCode.FINDINGS
