"""The Kubernetes API over kept-alive connections: for what is done often, or while a test waits.

kubectl costs 50 ms and a process for each call; a request here costs about 2 ms.
"""

import base64
import http.client
import json
import queue
import re
import ssl
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

# The API server itself gives up on an ordinary request after 60 s (--request-timeout).
_TIMEOUT_SECONDS = 65.0
# Past a watch's own end, for its last bytes.
_WATCH_GRACE_SECONDS = 30.0

# Whatever a connection does when the other side goes away.
CONNECTION_ERRORS = (OSError, http.client.HTTPException)

# `299 - "text"`, the text with its quotes and backslashes escaped: RFC 7234, section 5.5.
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request; `warnings` are the lines for the user, as kubectl prints them."""

    status: int
    content: bytes
    warnings: tuple[str, ...]

    @property
    def document(self) -> Any:
        """The JSON of it."""
        return json.loads(self.content)


class ApiError(RuntimeError):
    """The API server refused; `status` is the HTTP status, `body` its Status document or other text."""

    def __init__(self, method: str, path: str, status: int, body: bytes) -> None:
        """Take the message from the Status document where there is one."""
        self.status = status
        self.body = body
        try:
            said = json.loads(body)["message"]
        except (ValueError, KeyError, TypeError):
            said = body[:500].decode(errors="replace")
        super().__init__(f"{method} {path}: {status}: {said}")


class Api:
    """One API server, one identity. Safe for use from several threads."""

    def __init__(self, url: str, token: str, ca_file: Path) -> None:
        """Remember where; the first request connects."""
        self._host = urllib.parse.urlsplit(url).netloc
        self._token = token
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        self._idle: queue.LifoQueue[http.client.HTTPSConnection] = queue.LifoQueue()

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Self:
        """Read a kubeconfig of credentials.py: JSON, one cluster, one token."""
        document = json.loads(path.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        ca_file = path.with_suffix(".ca.crt")
        ca_file.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        return cls(cluster["server"], user["token"], ca_file)

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | list[Any] | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, bytes]:
        """Send one request and return status and body, whatever the status."""
        answer = self.ask(method, path, body, content_type)
        return answer.status, answer.content

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | list[Any] | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send one request and return all that came of it, whatever the status. A document is sent as JSON.

        A kept connection that the server has closed in the meantime is replaced, without a word.
        """
        payload = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        while True:
            connection, fresh = self._connection()
            try:
                connection.request(method, path, payload, self._headers(content_type))
                response = connection.getresponse()
                content = response.read()
            except CONNECTION_ERRORS as error:
                connection.close()
                if fresh or isinstance(error, TimeoutError):
                    raise
                continue
            except BaseException:
                connection.close()
                raise
            self._idle.put(connection)
            return Answer(response.status, content, tuple(map(_text, response.headers.get_all("Warning", ()))))

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | list[Any] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        """Send one request and return the decoded answer; raise ApiError unless it is a success."""
        status, content = self.raw(method, path, body, content_type)
        if status >= http.client.MULTIPLE_CHOICES:
            raise ApiError(method, path, status, content)
        return json.loads(content)

    def read(self, path: str) -> Any:
        """GET a document; raise ApiError unless it is there."""
        return self.request("GET", path)

    def watch(self, path: str, *, timeout_seconds: int) -> Iterator[Any]:
        """Yield the events of a watch `path` until the server ends it, which it does after `timeout_seconds`."""
        connection = http.client.HTTPSConnection(
            self._host, context=self._tls, timeout=timeout_seconds + _WATCH_GRACE_SECONDS
        )
        try:
            connection.request("GET", f"{path}&timeoutSeconds={timeout_seconds}", headers=self._headers(""))
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise ApiError("GET", path, response.status, response.read())
            for line in response:
                if not line.endswith(b"\n"):
                    raise http.client.IncompleteRead(line)  # the server went away in the midst of an event
                yield json.loads(line)
        finally:
            connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        while not self._idle.empty():
            self._idle.get().close()

    def _connection(self) -> tuple[http.client.HTTPSConnection, bool]:
        """Return a connection and whether it is new."""
        try:
            return self._idle.get_nowait(), False
        except queue.Empty:
            return http.client.HTTPSConnection(self._host, context=self._tls, timeout=_TIMEOUT_SECONDS), True

    def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        return {**headers, "Content-Type": content_type} if content_type else headers


def _text(header: str) -> str:
    """Return what a Warning header says; http.client reads the server's UTF-8 as Latin-1."""
    found = _WARNING.fullmatch(header.encode("latin-1").decode())
    if found is None:
        raise ValueError(f'Warning: got {header!r}, want 299 - "text"')
    return re.sub(r"\\(.)", r"\1", found[1])
