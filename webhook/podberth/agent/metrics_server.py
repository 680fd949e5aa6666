"""Serves the agent's metrics and liveness over plain HTTP: each request has a thread, and only a few run at once.

aiohttp is not used: importing aiohttp would cost more memory than the whole agent without metrics
(docs/adr/0020-gpu-metrics.md).
"""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from ..errors import UsageError
from ..settings import Address
from ..telemetry.gpu_metrics import CONTENT_TYPE, GpuMetrics
from .last_reading import Meter

# Two Prometheus servers at most scrape an agent, and the kubelet makes one probe at a time. Connections above this
# number are therefore closed.
_MOST_REQUESTS = 8
# A request that takes longer is cut off: its client sends nothing or single bytes, or does not read. The limit is more
# than twice the kubelet's deadline for a probe.
_REQUEST_SECONDS = 5.0

Page = tuple[HTTPStatus, str, bytes]


class _Handler(BaseHTTPRequestHandler):
    pages: Callable[[str], Page]

    def setup(self) -> None:
        super().setup()
        self._deadline = threading.Timer(_REQUEST_SECONDS, self._hang_up)
        self._deadline.daemon = True
        self._deadline.start()

    def finish(self) -> None:
        self._deadline.cancel()
        super().finish()

    def _hang_up(self) -> None:
        with suppress(OSError):  # the client has closed it
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:  # the name that http.server calls
        status, content_type, body = self.pages(self.path.partition("?")[0])
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_response(self, code: int, message: str | None = None) -> None:
        """Start an answer without the Server header that the library would add."""
        self.send_response_only(code, message)
        self.send_header("Date", self.date_time_string())

    def log_message(self, *_arguments: object) -> None:
        """Log nothing: a line for each scrape is of no use."""


class _Server(ThreadingMixIn, TCPServer):  # not HTTPServer, which asks DNS for its own name before it listens
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: Address, handler: type[_Handler]) -> None:
        # An empty host is every interface, of both families if the kernel has both.
        everywhere = not address.host and socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if everywhere or ":" in address.host else socket.AF_INET
        self._free = threading.Semaphore(_MOST_REQUESTS)
        super().__init__((address.host, address.port), handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6 and not self.server_address[0]:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that went away is no fault
            super().handle_error(request, client_address)


@contextmanager
def serving(address: Address, meter: Meter) -> Iterator[int]:
    """Serve ``/metrics`` and ``/livez`` while the context is open; the context's value is the port number.

    Raises:
        UsageError: the process cannot listen on the address.
    """
    metrics = GpuMetrics(meter.reading)

    def pages(path: str) -> Page:
        if path == "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE, metrics.exposition()
        if path != "/livez":
            return HTTPStatus.NOT_FOUND, "text/plain", b"want /metrics or /livez\n"
        silence = meter.silence_seconds()
        if silence <= meter.patience_seconds:
            return HTTPStatus.OK, "text/plain", b"ok\n"
        said = f"the devices were last looked at {silence:.0f} s ago; want {meter.patience_seconds:.0f} s at most\n"
        return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", said.encode()

    try:
        server = _Server(address, type("_Pages", (_Handler,), {"pages": staticmethod(pages)}))
    except OSError as error:
        where = f"{address.host}:{address.port}"
        raise UsageError(f"--metrics-listen: cannot listen on {where}: {error.strerror or error}") from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
