"""Sends traces of reviews with OpenTelemetry, by OTLP over HTTP.

Only this module imports OpenTelemetry, and this module is imported only if the operator asks for traces. A span
continues the trace of the API server's call (``traceparent``). The span is made after the answer, from recorded times,
and sent by a separate thread. The environment sets the endpoint, the number of kept spans, and the service name.
"""

import os
import threading
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .. import __version__
from .log import MAX_TEXT
from .metrics import Phases
from .traces import TracedReview

_NAME: Final = "podberth"
# Statuses from here on are errors of the server: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
_SERVER_FAULT = 500
# The part of the grace period of manifests/base that is left after reviews and Events.
_CLOSE_SECONDS: Final = 1.0
_SECOND_NS: Final = 1_000_000_000


class OpenTelemetryTracer:
    """Sends a span for each review with OpenTelemetry."""

    def __init__(self, instance: str) -> None:
        """Start the exporter. ``instance`` is the name of the pod that podberth runs in."""
        known = {"service.version": __version__, "service.instance.id": instance}
        if "OTEL_SERVICE_NAME" not in os.environ and "service.name=" not in os.environ.get(
            "OTEL_RESOURCE_ATTRIBUTES", ""
        ):
            known["service.name"] = _NAME
        self._provider = TracerProvider(resource=Resource.create(known), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer(_NAME, __version__)
        self._propagator = TraceContextTextMapPropagator()

    def review(self, traced: TracedReview) -> None:
        """Make the span of a review, with a child span for each phase, if the trace is sampled."""
        started_ns = traced.ended_ns - round(traced.seconds * _SECOND_NS)
        # Only the headers of W3C Trace Context are read, because strangers may send any others.
        carrier = {key: value for key in ("traceparent", "tracestate") if (value := traced.headers.get(key))}
        span = self._tracer.start_span(
            f"review {traced.path}",
            context=self._propagator.extract(carrier),
            kind=SpanKind.SERVER,
            start_time=started_ns,
        )
        if not span.is_recording():
            return
        _describe(span, traced)
        if traced.phases is not None:
            context, at_ns = set_span_in_context(span), started_ns
            for name, seconds in zip(Phases._fields, traced.phases, strict=True):
                phase = self._tracer.start_span(name, context=context, start_time=at_ns)
                at_ns += round(seconds * _SECOND_NS)
                phase.end(at_ns)
        span.end(traced.ended_ns)

    def close(self) -> None:
        """Send the queued spans; do not wait for a collector that does not answer."""
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)


def _describe(span: Span, traced: TracedReview) -> None:
    """Add the fields of the review's log line to a span, under the names in docs/operating.md."""
    span.set_attribute("http.response.status_code", traced.status)
    span.set_attribute("podberth.path", traced.path)
    if (request := traced.request) is not None:
        span.set_attribute("podberth.review.uid", request.uid)
        span.set_attribute("podberth.review.operation", request.operation)
        span.set_attribute("podberth.review.kind", request.kind)
        span.set_attribute("podberth.review.namespace", request.namespace)
        span.set_attribute("podberth.review.dry_run", request.dry_run)
    if (outcome := traced.outcome) is not None:
        span.set_attribute("podberth.verdict", outcome.verdict)
        span.set_attribute("podberth.policies", list(dict.fromkeys(each.policy for each in outcome.decisions)))
    else:
        span.set_attribute("podberth.verdict", "error")
    if traced.status >= _SERVER_FAULT:
        span.set_status(Status(StatusCode.ERROR, traced.error[:MAX_TEXT]))
