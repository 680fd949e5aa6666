"""Flags that several commands have: where the API server is, where to listen, and whose policies count."""

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
    """Add the flags of a person, which are kubectl's."""
    default = "default: those of $KUBECONFIG, else ~/.kube/config, else a pod's service account"
    parser.add_argument("--kubeconfig", metavar="FILE", type=Path, help=f"how to reach the cluster ({default})")
    parser.add_argument("--context", metavar="NAME", default="", help="a context of it (default: the current one)")


def kubeconfig_of(arguments: argparse.Namespace) -> Kubeconfig | None:
    """Return what these flags and the environment say; None: the service account of a pod.

    Raises:
        UsageError: a context without a kubeconfig.
    """
    return find_kubeconfig(arguments.kubeconfig, arguments.context, os.environ)


def add_access(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what runs in a pod."""
    add = parser.add_argument
    add("--api-server", metavar="URL", help="https://HOST:PORT (default: as every pod is told)")
    add("--token-file", metavar="FILE", type=Path, help="the bearer token (default: the pod's service account)")
    add("--ca-file", metavar="FILE", type=Path, help="who signed the API server's certificate (default: likewise)")


def address(text: str) -> Address:
    """Read a flag's address to listen at.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"got {text!r}, {error}") from error


def policies(text: str) -> Policies:
    """Read a flag's policies, as ``podberth serve`` reads them.

    Raises:
        ArgumentTypeError: it is neither a path nor the word cluster.
    """
    try:
        return path_or_cluster(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"got {text!r}, {error}") from error


def open_api(arguments: argparse.Namespace, *, connections: int) -> "Api":
    """Open the way to the API server.

    Raises:
        UsageError: nobody says where it is, or the extra is not installed.
    """
    try:
        from ..agent.api import Api, find_access  # noqa: PLC0415 - its library is an extra
    except ModuleNotFoundError as error:
        raise UsageError(f"API server: no module {error.name}; do: pip install 'podberth[agent]'") from error
    access = find_access(arguments.api_server, arguments.token_file, arguments.ca_file, os.environ)
    return Api(access, connections=connections)
