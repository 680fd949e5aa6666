"""Opens a process's connection to the API server: finds the kubeconfig as kubectl does, and loads the client.

The client library is an optional dependency, and only this module reports its absence.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any, Protocol

from ..errors import UsageError, without_extra
from ..kube.api_path import ApiPath
from .protocol import JSON, AnswerLimits, Timing


class Client(Protocol):
    """The interface of the client of the API server, for code that must not import the client itself."""

    async def get(self, path: ApiPath, query: dict[str, str], limits: AnswerLimits | None = None) -> bytes:
        """Return the body of the answer to a GET request."""

    async def send(
        self,
        method: str,
        path: ApiPath,
        document: object,
        content_type: str = JSON,
        limits: AnswerLimits | None = None,
    ) -> bytes:
        """Send a document to create or change an object, and return the body of the answer."""

    def stream(
        self, path: ApiPath, query: dict[str, str], accept: str = JSON
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Yield the body of the answer to a GET request in pieces, as the pieces arrive.

        ``accept`` has the content types that the answer may have, the best first.
        """

    async def reset(self) -> None:
        """Close the connections. The next request opens a new connection."""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The files of a kubeconfig. If several files set a field, the first file takes precedence."""

    files: tuple[Path, ...]
    context: str = ""
    """The name of the context; empty means the current context."""
    said_by: str = "--kubeconfig"

    @property
    def where(self) -> str:
        """The paths of the files, as one text for messages."""
        return f"{self.said_by}: {os.pathsep.join(map(str, self.files))}"


def find_kubeconfig(flag: Path | None, context: str, environ: Mapping[str, str]) -> Kubeconfig | None:
    """Return the kubeconfig of the flag, of KUBECONFIG or ~/.kube/config, in this order; None if no file exists.

    Without a kubeconfig, the process uses the service account of its pod.

    Raises:
        UsageError: a context is named, but there is no kubeconfig.
    """
    if flag is not None:
        return Kubeconfig((flag,), context)
    named = tuple(Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part)
    if named:
        # kubectl skips missing files; if all are missing, the message names the first.
        return Kubeconfig(tuple(path for path in named if path.exists()) or named[:1], context, "KUBECONFIG")
    home = environ.get("HOME", "")
    usual = Path(home) / ".kube" / "config"
    if home and usual.exists():  # as client-go; a container's user may have no home at all
        return Kubeconfig((usual,), context, "kubeconfig")
    if context:
        raise UsageError(f"--context: got {context!r} and no kubeconfig, want both; name one with --kubeconfig FILE")
    return None


def client_class(what: str) -> Callable[..., Client]:
    """Return the class of the client of the API server, which is imported only when this function is called.

    ``what`` is the flag or command that needs the cluster, as the error message names it.

    Raises:
        UsageError: the client library is not installed.
    """
    found: Callable[..., Client] = _client_module(what).ClusterClient
    return found


def _client_module(what: str) -> Any:
    """Return the module of the client.

    The packages ``kubernetes`` and ``kubernetes.aio`` import all of their modules, of which the client needs few, and
    not the synchronous half with requests and urllib3: 0.15 s, and 11 MB for as long as the process lives. So both are
    made known here without the code of their ``__init__``. When ``aiohttp`` is imported, it reads the certificates that
    the machine trusts, twice, for connections without a TLS context; each connection of the client has a context.

    Raises:
        UsageError: the client library is not installed.
    """
    try:
        for name in ("kubernetes", "kubernetes.aio"):
            spec = None if name in sys.modules else find_spec(name)
            if spec is not None:
                sys.modules[name] = module_from_spec(spec)
        with _no_trusted_certificates():
            from . import client  # noqa: PLC0415 - an extra, and 15 MB that other processes do not load
    except ImportError as error:
        raise UsageError(f"{what}: {without_extra(error, 'cluster')}") from error
    return client


@contextmanager
def _no_trusted_certificates() -> Iterator[None]:
    """Let OpenSSL find no trusted certificates of the machine until the ``with`` block ends: 0.05 to 0.1 s."""
    before = {name: os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")}
    os.environ.update(dict.fromkeys(before, os.devnull))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@asynccontextmanager
async def connected(
    what: str, kubeconfig: Kubeconfig | None, timing: Timing, *, brief: bool = False
) -> AsyncIterator[Client]:
    """Yield a client of the cluster that the kubeconfig names, or of the pod's cluster; close the client at the end.

    ``what`` is the flag or command that needs the cluster, as the error message names it. A ``brief`` client reads the
    credentials only once.

    Raises:
        UsageError: the client library is not installed, or no address of the API server is configured.
    """
    client = client_class(what)(kubeconfig, timing, brief=brief)
    try:
        yield client
    finally:
        await client.reset()


def namespace_of(kubeconfig: Kubeconfig | None) -> str:
    """Return the namespace of the kubeconfig's context, or else the pod's namespace, or else ``default``.

    Raises:
        UsageError: the client library is not installed, or the kubeconfig cannot be used.
    """
    found: str = _client_module("--namespace").namespace_in(kubeconfig)
    return found
