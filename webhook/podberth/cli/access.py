"""Flags that several commands have: the API server's address, the address to listen on, the policies to use."""

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..api.opening import Kubeconfig, find_kubeconfig
from ..errors import UsageError
from ..settings import parse_address, path_or_cluster

if TYPE_CHECKING:
    from ..agent.api import Api

T = TypeVar("T")


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
    """Add the flags by which a process in a pod reaches the API server."""
    add = parser.add_argument
    add("--api-server", metavar="URL", help="https://HOST:PORT (default: the pod's environment)")
    add("--token-file", metavar="FILE", type=Path, help="the bearer token (default: the pod's service account)")
    add(
        "--ca-file",
        metavar="FILE",
        type=Path,
        help="the authority of the API server's certificate (default: the pod's service account)",
    )


def flag(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return the parser of a flag from one that raises a ValueError with what is wanted."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"got {text!r}, {error}") from error

    return parsed


address = flag(parse_address)
policies = flag(path_or_cluster)


def number(least: float, most: float, want: str) -> Callable[[str], float]:
    """Return the parser of a flag with a number in a range; ``want`` describes it."""

    def parse(text: str) -> float:
        with suppress(ValueError):
            if least <= (found := float(text)) <= most:  # nan is neither
                return found
        raise ValueError(f"want {want}")

    return flag(parse)


def counted(what: str) -> Callable[[str], int]:
    """Return the parser of a flag with a number of things, from 1 on."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and int(text)):
            raise ValueError(f"want a number of {what} from 1 on")
        return int(text)

    return flag(parse)


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
