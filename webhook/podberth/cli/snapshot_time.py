"""The time of a snapshot of a cluster, at which its free devices were free."""

from datetime import UTC, datetime
from pathlib import Path

from ..files.manifests import STDIN, find_manifests
from ..words import lasting


def time_of(snapshot: str | None, at: datetime | None = None) -> datetime | None:
    """Return the time of a snapshot: ``at`` if given, else that of its newest file; None for no snapshot.

    ``snapshot`` is the value of ``--topology``: a file, a folder, or "-" for standard input, whose time is now.
    """
    if snapshot is None:
        return None
    if at is not None:
        return at
    files = [] if snapshot == STDIN else find_manifests([snapshot]).files
    newest = max((Path(file).stat().st_mtime for file in files), default=None)
    return datetime.now(UTC) if newest is None else datetime.fromtimestamp(newest, UTC)


def caption(at: datetime | None) -> str:
    """Return the caption of a picture, such as ``snapshot of 2026-01-31 12:00 UTC``; empty without a snapshot."""
    return "" if at is None else f"snapshot of {_minute(at)}"


def as_of(at: datetime, now: datetime | None = None) -> str:
    """Return a time as text, such as ``as of 2026-01-31 12:00 UTC``; with ``now``, how long ago it was, too."""
    age = "" if now is None else f", {lasting((now - at).total_seconds())} ago"
    return f"as of {_minute(at)}{age}"


def _minute(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
