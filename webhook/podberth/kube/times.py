"""Writes times in the Kubernetes API's formats, in UTC (apimachinery pkg/apis/meta/v1 time.go and micro_time.go)."""

from datetime import UTC, datetime


def as_time(at: datetime) -> str:
    """Return a time as the text of a metav1.Time, in whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_micro_time(at: datetime) -> str:
    """Return a time as the text of a metav1.MicroTime, in microseconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
