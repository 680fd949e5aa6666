"""The command line flags that several commands share, and functions that read the flags' values."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from .. import settings
from ..errors import UsageError, without_extra
from ..words import parse_life

if TYPE_CHECKING:
    from ..agent.api import Api
    from ..api.opening import Kubeconfig
    from ..files.cluster_files import ClusterFiles
    from ..native.judge import Requester

T = TypeVar("T")
SUGGESTED: Final[dict[argparse.Action, tuple[str, ...]]] = {}
"""The values that a shell suggests for flags that take other values, too."""


def add_kubeconfig(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose a cluster, with the names that kubectl uses."""
    default = "default: those of $KUBECONFIG, else ~/.kube/config, else a pod's service account"
    parser.add_argument("--kubeconfig", metavar="FILE", type=Path, help=f"how to reach the cluster ({default})")
    parser.add_argument("--context", metavar="NAME", default="", help="a context of it (default: the current one)")


def kubeconfig_of(arguments: argparse.Namespace) -> "Kubeconfig | None":
    """Return the kubeconfig that the flags or the environment name; None if the service account of the pod is used.

    Raises:
        UsageError: a context is given without a kubeconfig.
    """
    from ..api.opening import find_kubeconfig  # noqa: PLC0415 - most checks ask no cluster

    return find_kubeconfig(arguments.kubeconfig, arguments.context, os.environ)


def add_access(parser: argparse.ArgumentParser) -> None:
    """Add the flags with which a process in a pod reaches the API server."""
    add = parser.add_argument
    add("--api-server", metavar="URL", help="https://HOST:PORT (default: the pod's environment)")
    add("--token-file", metavar="FILE", type=Path, help="the bearer token (default: the pod's service account)")
    add(
        "--ca-file",
        metavar="FILE",
        type=Path,
        help="the authority of the API server's certificate (default: the pod's service account)",
    )


def add_conventions(parser: argparse.ArgumentParser) -> None:
    """Add the flag --conventions, whose file has the cluster's own names of levels, taints and labels."""
    parser.add_argument("--conventions", metavar="FILE", type=Path, help="the cluster's own names, as serve reads them")


def add_pod_schema(parser: argparse.ArgumentParser) -> None:
    """Add the flag --pod-schema, whose file has the Pod fields of a cluster's API server."""
    parser.add_argument(
        "--pod-schema",
        metavar="FILE",
        type=Path,
        help="what kubectl get --raw /openapi/v3/api/v1 prints: policies may use that cluster's Pod fields",
    )


def add_cluster_files(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the files that describe a cluster: the conventions and the Pod schema."""
    add_conventions(parser)
    add_pod_schema(parser)


def cluster_files_of(arguments: argparse.Namespace) -> "ClusterFiles":
    """Return the files about the cluster that the flags --conventions and --pod-schema name."""
    from ..files.cluster_files import ClusterFiles  # noqa: PLC0415 - most commands that share flags compile no policy

    return ClusterFiles(conventions=arguments.conventions, pod_schema=arguments.pod_schema)


def add_requester(parser: argparse.ArgumentParser) -> None:
    """Add the flags --user and --group, and the flag --authorizer.

    The first two name the user who creates the objects that the command judges. The last names a file with RBAC
    objects: the rights of all users.
    """
    parser.add_argument(
        "--user",
        metavar="NAME",
        help="who creates the objects: request.userInfo, and who authorizer is asked about (default: a user of the "
        "group system:authenticated)",
    )
    parser.add_argument(
        "--group", metavar="NAME", action="append", default=[], help="a group of that user, with --user; repeatable"
    )
    parser.add_argument(
        "--authorizer",
        metavar="FILE",
        type=Path,
        help="a file or directory of what kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o json "
        "prints: the answers of authorizer in native policies (default: what asks it is not judged)",
    )


def requester_of(arguments: argparse.Namespace) -> "Requester":
    """Return the user that the flags --user and --group name, and the rights in the file of the flag --authorizer.

    Groups that every authenticated user has are added, as for kubectl's --as.

    Raises:
        UsageError: groups are given without a user, or the file of --authorizer cannot be used.
    """
    from ..native.judge import Requester, user_info  # noqa: PLC0415 - as below

    if arguments.group and arguments.user is None:
        raise UsageError(f"--group: got {', '.join(arguments.group)} without --user, want both")
    rights = None
    if arguments.authorizer is not None:
        from ..files.rights import read_rights  # noqa: PLC0415 - only native policies ask for rights

        rights = read_rights(arguments.authorizer)
    if arguments.user is None:
        return Requester(rights=rights)
    return Requester(user=user_info(arguments.user, arguments.group), rights=rights)


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json")) -> None:
    """Add the flag ``-o``, which chooses the output format of a command; the first of ``formats`` is the default."""
    parser.add_argument("-o", "--output", choices=formats, default=formats[0], help=f"(default {formats[0]})")


def add_quiet(parser: argparse.ArgumentParser, effect: str) -> None:
    """Add the flag ``-q``, which leaves out everything but findings; its help begins with ``effect``."""
    parser.add_argument("-q", "--quiet", action="store_true", help=f"{effect}; on stderr nothing about what was read")


def add_outputs(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add the repeatable flag -o for an output format and optionally a file; the first format is the default."""
    output = parser.add_argument(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        action="append",
        default=[],
        help=f"{', '.join(formats)}; repeatable, one of them at most without a file (default {formats[0]})",
    )
    SUGGESTED[output] = tuple(formats)


def outputs_of(given: Sequence[str], formats: Sequence[str]) -> list[tuple[str, str]]:
    """Return (format, file name) for each output that the user wants; an empty file name means stdout.

    Args:
        given: the values of the flag, each FORMAT or FORMAT=FILE; if there are none, the first format goes to stdout.
        formats: the formats that the command has.

    Raises:
        UsageError: a value is neither FORMAT nor FORMAT=FILE, a format is unknown, or two outputs have one file.
    """
    found: list[tuple[str, str]] = []
    for each in given or formats[:1]:
        name, equals, file = each.partition("=")
        if name not in formats or (equals and not file):
            raise UsageError(f"-o: got {each!r}, want FORMAT or FORMAT=FILE, the format one of {', '.join(formats)}")
        if any(file == place for _, place in found):
            raise UsageError(
                f"-o: got {each!r} beside another for {file or 'stdout'}, want one; name a file: {name}=FILE"
            )
        found.append((name, file))
    return found


def flag(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return an argparse type that parses a flag's text with ``parse``.

    If ``parse`` raises a ValueError, the error message for the user shows the text, then the ValueError's message.
    """

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"got {text!r}, {error}") from error

    return parsed


address = flag(settings.parse_address)
path = flag(settings.parse_path)
life = flag(parse_life)


def number(least: float, most: float, want: str) -> Callable[[str], float]:
    """Return an argparse type for a number from ``least`` to ``most``; ``want`` describes the number in the error."""
    return flag(settings.number(least, most, want))


def counted(what: str) -> Callable[[str], int]:
    """Return an argparse type for a whole number, at least 1; ``what`` is the noun in the error message: "nodes"."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and int(text)):
            raise ValueError(f"want a number of {what} from 1 on")
        return int(text)

    return flag(parse)


def open_api(arguments: argparse.Namespace, *, connections: int) -> "Api":
    """Return a client of the API server that the flags or the environment name, for ``connections`` threads at a time.

    Raises:
        UsageError: the API server's address is unknown, a file of credentials cannot be used, or the client's libraries
            are not installed.
    """
    try:
        from ..agent.api import Api, find_access  # noqa: PLC0415 - its library is an extra
    except ModuleNotFoundError as error:
        raise UsageError(f"API server: {without_extra(error, 'agent')}") from error
    access = find_access(arguments.api_server, arguments.token_file, arguments.ca_file, os.environ)
    return Api(access, connections=connections)
