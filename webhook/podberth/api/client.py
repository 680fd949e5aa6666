"""The client of the API server, built on kubernetes.aio: configuration, credentials and TLS.

Only this module imports kubernetes.aio. Answers stay bytes: the library's model classes take ten times as long as
orjson, and drop unknown fields. A failure is a ``ClusterError`` that names the request and the server.
"""

import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes.aio.config.kube_config import ENV_KUBECONFIG_PATH_SEPARATOR, KubeConfigLoader, KubeConfigMerger

from ..errors import ClusterError, TooLongError, UsageError
from ..files.reading import MAX_SMALL_BYTES, read_given
from ..kube.api_path import ApiPath
from ..kube.documents import load_documents
from .opening import Kubeconfig
from .protocol import JSON, LARGEST_OBJECT_BYTES, AnswerLimits, Timing, refusal

# Exceptions of kubernetes.aio for a broken kubeconfig, which it does not check first.
_NO_CONFIGURATION = (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError)
_TOKEN: Final = "BearerToken"  # noqa: S105 - the name of a field
# Compression costs the API server more than it saves, and Kubernetes' own clients do not ask for it
# (kubernetes pkg/controlplane, DisableCompression).
_HEADERS: Final = {"Accept-Encoding": "identity", "User-Agent": "podberth"}
_REDIRECT = 300


class _Answer(aiohttp.ClientResponse):
    """An answer that can be given up at any time, without waiting for the TLS peer.

    aiohttp closes the connection of a cancelled request, but does not wait for the end of TLS. If the event loop ended
    before the peer had answered, uvloop would raise an error.
    """

    def close(self) -> None:
        if self.connection is not None and self.connection.transport is not None:
            self.connection.transport.abort()
        super().close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.close()
        await super().__aexit__(kind, error, traceback)


class ClusterClient:
    """Sends requests to one API server. After a failure, the caller calls ``reset`` to get new connections."""

    def __init__(self, kubeconfig: Path | Kubeconfig | None, timing: Timing, *, brief: bool = False) -> None:
        """Find the address of the API server in the kubeconfig or, without a kubeconfig, in the pod's environment.

        ``brief`` is for a command that ends in seconds. Credentials are then read only once, because reading
        credentials may run an external program.

        Raises:
            UsageError: no configuration is found, or the configuration is not valid.
        """
        kubeconfig = Kubeconfig((kubeconfig,)) if isinstance(kubeconfig, Path) else kubeconfig
        self._where = "in-cluster configuration" if kubeconfig is None else kubeconfig.where
        self._timing = timing
        self._brief = brief
        self._kept: dict[str, str] | None = None
        self._configuration: Any = Configuration()
        self._configuration.client_session_kwargs = {"response_class": _Answer}
        self._loader = self._find(kubeconfig)
        self._api: Any = None

    async def get(self, path: ApiPath, query: dict[str, str], limits: AnswerLimits | None = None) -> bytes:
        """Return the body of the answer to a GET request.

        Without ``limits``, the answer may have any length, and take as long as the answer to a list request.

        Raises:
            ClusterError: the answer is an error or too long, no answer came, or there are no credentials.
        """
        return await self.send("GET", path.asking(query), None, limits=limits)

    async def send(
        self,
        method: str,
        path: ApiPath,
        document: object,
        content_type: str = JSON,
        limits: AnswerLimits | None = None,
    ) -> bytes:
        """Send ``document`` to create or change an object, and return the body of the answer.

        ``document`` is an object as JSON, or a list of operations if ``content_type`` is that of a JSON patch.

        Raises:
            ClusterError: the request failed; the error's ``status`` is 409 if another writer changed the object first.
        """
        total = self._timing.list_seconds if limits is None else limits.seconds
        timeout = aiohttp.ClientTimeout(total=total, sock_connect=self._timing.connect_seconds)
        async with self._answer(method, path, timeout, {"Content-Type": content_type}, document) as answer:
            return await (answer.read() if limits is None else _body(answer, limits.most_bytes))

    @asynccontextmanager
    async def stream(
        self, path: ApiPath, query: dict[str, str], accept: str = JSON
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the body of the answer to a GET request in pieces, as the pieces arrive.

        ``accept`` has the content types that the answer may have, the best first.

        Raises:
            ClusterError: the request failed, or no data arrives for ``Timing.silence_seconds``.
        """
        silence, connect = self._timing.silence_seconds, self._timing.connect_seconds
        limits = aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=silence)
        async with self._answer("GET", path.asking(query), limits, {"Accept": accept}) as answer:
            try:
                yield answer.content.iter_any()
            finally:
                answer.close()  # leaving a watch must not take time

    async def reset(self) -> None:
        """Close the connections. The next request reads the configuration files again, including a new CA."""
        api, self._api = self._api, None
        if api is not None:
            await api.close()

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        target: ApiPath,
        limits: aiohttp.ClientTimeout,
        more_headers: Mapping[str, str],
        document: object = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = {"Accept": JSON, **await self._headers(), **more_headers}
        url = f"{self._configuration.host}{target}"
        what = f"{method} {url.partition('?')[0]}"
        try:
            if self._api is None:
                self._api = ApiClient(self._configuration)
            call = await self._api.call_api(method, url, headers, document, _request_timeout=limits)
            async with call.response as answer:
                if answer.status >= _REDIRECT:
                    retry_after = answer.headers.get("Retry-After", "")
                    raise refusal(what, answer.status, await _body(answer, LARGEST_OBJECT_BYTES), retry_after)
                yield answer
        except aiohttp.ClientConnectorCertificateError as error:
            said = f"its certificate is not trusted: {_of(error)}; check the CA"
            raise ClusterError("refused", f"{what}: {said}") from error
        except aiohttp.SocketTimeoutError as error:
            raise ClusterError("silent", f"{what}: nothing came for too long: {_of(error)}; try again") from error
        except TimeoutError as error:
            raise ClusterError("lost", f"{what}: no answer in time; try again") from error
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            raise ClusterError("lost", f"{what}: the connection failed: {_of(error)}; try again") from error

    async def _headers(self) -> dict[str, str]:
        """Return the HTTP headers, with the credentials.

        Credentials are read for each request, because kubelets replace tokens. A ``brief`` client reads the credentials
        only once.
        """
        if self._kept is not None:
            return dict(self._kept)
        try:
            loading = self._loader.load_and_set(self._configuration)
            if loading is not None:  # a kubeconfig may name a program that makes tokens
                await loading
        except _NO_CONFIGURATION as error:
            raise ClusterError("refused", f"{self._where}: no credentials: {_of(error)}; fix it") from error
        token = str(self._configuration.api_key.get(_TOKEN, "")).strip()
        headers = {**_HEADERS, "Authorization": token} if token else dict(_HEADERS)
        self._kept = dict(headers) if self._brief else None
        return headers

    def _find(self, kubeconfig: Kubeconfig | None) -> Any:
        in_cluster: Any = InClusterConfigLoader
        try:
            if kubeconfig is None:
                loader = in_cluster(SERVICE_TOKEN_FILENAME, SERVICE_CERT_FILENAME, try_refresh_token=False)
                loader.load_and_set(self._configuration)
                return loader
            return _loader(kubeconfig)
        except _NO_CONFIGURATION as error:
            if kubeconfig is None and not os.environ.get(SERVICE_HOST_ENV_NAME):
                got = "got neither $KUBECONFIG nor ~/.kube/config, and this is no pod of a cluster"
                raise UsageError(f"kubeconfig: {got}; want --kubeconfig FILE") from error
            want = "want a kubeconfig" if kubeconfig else "want a pod with a service account, or --kubeconfig FILE"
            raise UsageError(f"{self._where}: cannot be used: {_of(error)}; {want}") from error


def namespace_in(kubeconfig: Kubeconfig | None) -> str:
    """Return the namespace of the kubeconfig's context, or else the pod's namespace, or else ``default``.

    Raises:
        UsageError: the kubeconfig cannot be used.
    """
    try:
        if kubeconfig is None:
            own = Path(SERVICE_TOKEN_FILENAME).with_name("namespace")
            return own.read_text(encoding="utf-8").strip() if own.exists() else "default"
        context = _loader(kubeconfig).current_context["context"].get("namespace")
    except _NO_CONFIGURATION as error:
        where = "in-cluster configuration" if kubeconfig is None else kubeconfig.where
        raise UsageError(f"{where}: cannot be used: {_of(error)}; want a kubeconfig") from error
    return str(context or "default")


async def _body(answer: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > most_bytes:
            answer.close()
            what = f"{answer.method} {answer.url.with_query(None)}"
            raise TooLongError(
                "garbled", f"{what}: got more than {most_bytes} bytes, want one object of the API; see what it is"
            )
    return bytes(body)


def _loader(kubeconfig: Kubeconfig) -> Any:
    """Return the loader of the library kubernetes.aio for a kubeconfig.

    If the kubeconfig cannot be used, one of the exceptions in ``_NO_CONFIGURATION`` is raised.
    """
    of_file: Any = KubeConfigLoader
    context = kubeconfig.context or None
    read = [_document(path) for path in kubeconfig.files]
    if len(kubeconfig.files) > 1:
        merger: Any = KubeConfigMerger
        merged = merger(ENV_KUBECONFIG_PATH_SEPARATOR.join(map(str, kubeconfig.files)))
        # kubectl takes the context of the first file that names one; the package would take that of the last.
        currents = (each.get("current-context") for each in merged.config_files.values())
        # Without a base path, paths in a file are relative to that file.
        return of_file(merged.config, context or next(filter(None, currents), None), config_base_path=None)
    return of_file(read[0], context, config_base_path=str(kubeconfig.files[0].parent))


def _document(path: Path) -> dict[str, Any]:
    documents, problems = load_documents(read_given(path, MAX_SMALL_BYTES).decode("utf-8"), str(path))
    if problems or len(documents) != 1:
        raise ValueError(str(problems[0]) if problems else f"{path}: got {len(documents)} documents")
    return documents[0].document


def _of(error: BaseException) -> str:
    """Return the message of an error, as one line of text."""
    said = getattr(error, "strerror", None) or str(error)
    return " ".join(str(said).split())[:300] or type(error).__name__
