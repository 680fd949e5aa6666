"""Sends the agent's requests to the API server. Only this module imports ``urllib3``.

The module is small because it runs on every node. Every outcome of a request is a returned result; only a missing
configuration raises an error (docs/adr/0019-publishing.md).
"""

import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import urllib3

from .. import __version__
from ..errors import UsageError
from ..files.reading import MAX_SMALL_BYTES, read_in_time
from .api_requests import ApiRequest, SendResult

# https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

# A handshake takes milliseconds; a longer one means that the server is not there.
_CONNECT_SECONDS = 5.0
# The API server's own calls to webhooks may take 10 s each (admissionregistration's default timeoutSeconds).
_READ_SECONDS = 20.0
_LONGEST_SAID = 300
_AGENT = {"User-Agent": f"podberth-agent/{__version__}"}


@dataclass(frozen=True, slots=True)
class Access:
    """The address of the API server, and the paths of the files with the credentials."""

    url: str
    token_file: Path
    """The path of the token file.

    The file is read again for each request, because the kubelet replaces a token before the token expires.
    """
    ca_file: Path


def find_access(url: str | None, token_file: Path | None, ca_file: Path | None, environ: Mapping[str, str]) -> Access:
    """Return the API server's address and the paths of the credentials, from the flags or the environment of the pod.

    Raises:
        UsageError: no https address of the API server is given, or a file cannot be read.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if url is None and host:
        url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    if url is None:
        raise UsageError(
            "API server: got no address: no KUBERNETES_SERVICE_HOST, as in a pod, and no --api-server; "
            "do: podberth agent --print to write the document to stdout instead"
        )
    if not _is_https(url):
        raise UsageError(f"--api-server: got {url}, want https://HOST:PORT")
    access = Access(url, token_file or SERVICE_ACCOUNT / "token", ca_file or SERVICE_ACCOUNT / "ca.crt")
    for flag, file in (("--token-file", access.token_file), ("--ca-file", access.ca_file)):
        try:
            read_in_time(file, MAX_SMALL_BYTES)
        except OSError as error:
            raise UsageError(
                f"{flag}: {file}: {error.strerror}; want the agent's credentials, or "
                "automountServiceAccountToken in a pod"
            ) from error
    return access


def _is_https(url: str) -> bool:
    """Return whether a URL has the scheme https, a host and a valid port."""
    try:
        where = urlsplit(url)
        return where.scheme == "https" and bool(where.hostname) and where.port != 0
    except ValueError:  # a port that is no number, or half an IPv6 address
        return False


class Api:
    """A client of one API server, for at most ``connections`` threads at a time."""

    def __init__(self, access: Access, *, connections: int = 1) -> None:
        """Create the client; the first request opens a connection.

        Raises:
            UsageError: the CA file cannot be read, or holds no certificate.
        """
        self._access, self._connections = access, connections
        self._prefix = urlsplit(access.url).path.rstrip("/")
        self._pool = self._open()

    def send(self, request: ApiRequest) -> SendResult:
        """Send one request and return the result; a missing or unreadable answer is a result, too."""
        try:
            token = self._token()
            if token is None:
                return SendResult(0, said=f"{self._access.token_file}: got no token, want one line of ASCII")
            headers = {**request.headers, **_AGENT, "Authorization": f"Bearer {token}"}
            response = self._pool.request(request.method, self._prefix + request.path, request.body, headers=headers)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if isinstance(error, urllib3.exceptions.SSLError):
                self._renew()
            return SendResult(0, said=f"no answer from {self._access.url}: {error}"[:_LONGEST_SAID])
        try:
            body = orjson.loads(response.data)
        except ValueError:
            body = {}
        body = body if isinstance(body, dict) else {}
        said = str(body.get("message") or response.reason or "")[:_LONGEST_SAID]
        return SendResult(response.status, body, said, _seconds(response.headers.get("Retry-After")))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _open(self) -> urllib3.HTTPSConnectionPool:
        where = urlsplit(self._access.url)
        try:
            context = ssl.create_default_context(cafile=str(self._access.ca_file))
        except (ssl.SSLError, OSError) as error:
            raise UsageError(f"--ca-file: {self._access.ca_file}: {error}; want certificates in PEM") from error
        return urllib3.HTTPSConnectionPool(
            where.hostname or "",
            where.port or 443,
            maxsize=self._connections,
            block=True,
            ssl_context=context,
            retries=False,
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
        )

    def _renew(self) -> None:
        """Read the CA file again, because the CA of a cluster is sometimes replaced."""
        with suppress(UsageError):
            self._pool = self._open()

    def _token(self) -> str | None:
        """Return the token from the file; None if the file is empty or has characters that no HTTP header may have.

        ``http.client`` would show a token with these characters in an error message.
        """
        token = read_in_time(self._access.token_file, MAX_SMALL_BYTES).strip()
        return token.decode("ascii") if token and token.isascii() and token.decode("ascii").isprintable() else None


def _seconds(text: str | None) -> float | None:
    """Return the number of seconds in a Retry-After header; None if there is none. The API server sends no dates."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None
