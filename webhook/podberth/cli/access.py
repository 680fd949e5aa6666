"""Flags that several commands have: the API server's address, the address to listen on, the policies to use."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..api.kubeconfig import Kubeconfig, find_kubeconfig
from ..errors import UsageError
from ..settings import Address, Policies, parse_address, path_or_cluster

if TYPE_CHECKING:
    from ..agent.api import Api


def add_kubeconfig(parser: argparse.ArgumentParser) -> None:
    """Add the flags for people, which are kubectl's."""
    default = "default: those of $KUBECONFIG, else ~/.kube/config, else a pod's service account"
    parser.add_argument("--kubeconfig", metavar="FILE", type=Path, help=f"how to reach the cluster ({default})")
    parser.add_argument("--context", metavar="NAME", default="", help="a context of it (default: the current one)")


def kubeconfig_of(arguments: argparse.Namespace) -> Kubeconfig | None:
    """Return the cluster's address from these flags and the environment; None: the service account of a pod.

    Raises:
        UsageError: a context without a kubeconfig.
    """
    return find_kubeconfig(arguments.kubeconfig, arguments.context, os.environ)


def add_access(parser: argparse.ArgumentParser) -> None:
    """Add the flags for processes in a pod."""
    add = parser.add_argument
    add("--api-server", metavar="URL", help="https://HOST:PORT (default: the pod's environment)")
    add("--token-file", metavar="FILE", type=Path, help="the bearer token (default: the pod's service account)")
    add(
        "--ca-file",
        metavar="FILE",
        type=Path,
        help="the authority of the API server's certificate (default: the pod's service account)",
    )


def address(text: str) -> Address:
    """Parse a flag's address to listen on.

    Raises:
        ArgumentTypeError: the text is no address.
    """
    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"got {text!r}, {error}") from error


def policies(text: str) -> Policies:
    """Parse a flag's policies, as ``podberth serve`` does.

    Raises:
        ArgumentTypeError: the text is neither a path nor the word cluster.
    """
    try:
        return path_or_cluster(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"got {text!r}, {error}") from error


def open_api(arguments: argparse.Namespace, *, connections: int) -> "Api":
    """Open the connection to the API server.

    Raises:
        UsageError: its address is unknown, or the extra is not installed.
    """
    try:
        from ..agent.api import Api, find_access  # noqa: PLC0415 - its library is an extra
    except ModuleNotFoundError as error:
        raise UsageError(f"API server: no module {error.name}; do: pip install 'podberth[agent]'") from error
    access = find_access(arguments.api_server, arguments.token_file, arguments.ca_file, os.environ)
    return Api(access, connections=connections)
