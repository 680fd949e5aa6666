"""The facts of a review's trace, and whether traces are wanted. Without OpenTelemetry, which ``tracing`` imports."""

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
class Traced:
    """A review that is answered. ``request`` is None if none could be decoded, ``outcome`` if there is none."""

    headers: Mapping[str, str]
    path: str
    """As in the metrics: a path of reviews, or ``other``."""
    status: int
    ended_ns: int
    """Seconds since the epoch."""
    seconds: float
    request: AdmissionRequest | None
    outcome: Outcome | None = None
    phases: Phases | None = None
    error: str = ""


class Tracer(Protocol):
    """Makes spans."""

    def review(self, traced: Traced) -> None:
        """Make the spans of a review, after its answer; must not wait."""

    def close(self) -> None:
        """Send the queued spans, briefly."""


def asked_for(environ: Mapping[str, str]) -> bool:
    """Tell whether the environment asks for traces, by OpenTelemetry's own variables: an exporter, or an endpoint.

    Raises:
        ValueError: it asks for a protocol that podberth does not support.
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
