"""A collector of traces: OTLP over real HTTP on loopback, read with the classes that OpenTelemetry publishes."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """A span as it came; ids are hexadecimal, empty where there is none."""

    name: str
    trace: str
    id: str
    parent: str
    server: bool
    started_ns: int
    ended_ns: int
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


@dataclass(slots=True)
class Receiver:
    """What came."""

    url: str
    _spans: list[ReceivedSpan] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def environ(self) -> dict[str, str]:
        """What sends traces here, soon after they are made."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}

    def take(self, body: bytes) -> None:
        """Take in a request's body."""
        with self._lock:
            self._spans += _spans(ExportTraceServiceRequest.FromString(body))

    def spans(self) -> list[ReceivedSpan]:
        """Return all that came until now."""
        with self._lock:
            return list(self._spans)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Listen until the end."""

    class Handler(BaseHTTPRequestHandler):
        receiver: ClassVar[Receiver]

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known = self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
            if known:
                zipped = self.headers.get("Content-Encoding") == "gzip"
                self.receiver.take(gzip.decompress(body) if zipped else body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Handler.receiver = Receiver(f"http://127.0.0.1:{server.server_port}")
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield Handler.receiver
        finally:
            server.shutdown()
            serving.join()


def _spans(request: ExportTraceServiceRequest) -> Iterator[ReceivedSpan]:
    for one in request.resource_spans:
        for scope in one.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    name=span.name,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    server=span.kind == span.SPAN_KIND_SERVER,
                    started_ns=span.start_time_unix_nano,
                    ended_ns=span.end_time_unix_nano,
                    failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    attributes=_attributes(span.attributes),
                    resource=_attributes(one.resource.attributes),
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        which = pair.value.WhichOneof("value")
        value = getattr(pair.value, which)
        found[pair.key] = [each.string_value for each in value.values] if which == "array_value" else value
    return found
