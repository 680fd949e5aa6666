"""The flags that say where the API server is, of every command that talks to it from outside or from a pod."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AccessError

if TYPE_CHECKING:
    from ..agent.api import Api


def add_access(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add = parser.add_argument
    add("--api-server", metavar="URL", help="https://HOST:PORT (default: as every pod is told)")
    add("--token-file", metavar="FILE", type=Path, help="the bearer token (default: the pod's service account)")
    add("--ca-file", metavar="FILE", type=Path, help="who signed the API server's certificate (default: likewise)")


def open_api(arguments: argparse.Namespace, *, connections: int) -> "Api":
    """Open the way to the API server.

    Raises:
        AccessError: nobody says where it is, or the extra is not installed.
    """
    try:
        from ..agent.api import Api, find_access  # noqa: PLC0415 - its library is an extra
    except ModuleNotFoundError as error:
        raise AccessError(f"API server: no module {error.name}; do: pip install 'podberth[agent]'") from error
    access = find_access(arguments.api_server, arguments.token_file, arguments.ca_file, os.environ)
    return Api(access, connections=connections)
