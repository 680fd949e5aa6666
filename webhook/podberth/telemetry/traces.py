"""The facts for a review's trace, and the check whether the operator wants traces.

This module does not import OpenTelemetry; the module ``tracing`` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from .metrics import Phases

# https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and .../protocol/exporter/
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"


@dataclass(frozen=True, slots=True)
class TracedReview:
    """A review after its answer.

    ``request`` is None if no request could be decoded; ``outcome`` is None without a decision.
    """

    headers: Mapping[str, str]
    path: str
    """The URL path as in the metrics: a path of reviews, or ``other``."""
    status: int
    ended_ns: int
    """The time of the answer, in nanoseconds since the epoch."""
    seconds: float
    request: AdmissionRequest | None
    outcome: Outcome | None = None
    phases: Phases | None = None
    error: str = ""


class ReviewTracer(Protocol):
    """Makes the spans of reviews."""

    def review(self, traced: TracedReview) -> None:
        """Make the spans of a review after the answer; must not block."""

    def close(self) -> None:
        """Send the spans that are still queued, but wait only briefly."""


def asked_for(environ: Mapping[str, str]) -> bool:
    """Return whether the environment asks for traces, with OpenTelemetry's own variables for exporter or endpoint.

    Raises:
        ValueError: the environment asks for a protocol that podberth does not support.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporters = [each.strip() for each in environ.get("OTEL_TRACES_EXPORTER", "").split(",") if each.strip()]
    if not ("otlp" in exporters if exporters else _first(environ, _ENDPOINTS)):
        return False
    if (protocol := _first(environ, _PROTOCOLS) or _PROTOCOL) != _PROTOCOL:
        raise ValueError(f"{_PROTOCOLS[1]}: got {protocol[:40]!r}, want {_PROTOCOL}")
    return True


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((found for each in names if (found := environ.get(each, "").strip())), "")
