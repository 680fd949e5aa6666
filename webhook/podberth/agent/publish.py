"""The agent's loop: look, publish the result, wait for a device, the interval, or the next request to send."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Protocol

from ..telemetry.log import Level
from ..topology.codec import encode_topology
from ..topology.model import NodeTopology
from ..wellknown import LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL
from .objects import Answer, Request
from .publisher import Instant, Publisher

# ---- the labels about links, which placement needs and nobody else sets ----------------------------------------------

NFD_FOLDER = Path("/etc/kubernetes/node-feature-discovery/features.d")
"""https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide#local-feature-source"""
FEATURE_FILE = "podberth"


def link_labels(topology: NodeTopology) -> dict[str, str] | None:
    """Return a node's labels; None if they are unknown: the earlier labels then stay, because hardware seldom changes.

    They are unknown when a GPU is unhealthy: a lost GPU has no links, and a full mesh would look like islands.
    """
    links = topology.links
    if links.shape == "unknown" or any(gpu.problem for gpu in topology.gpus):
        return None
    widest = max(map(len, links.domains), default=1)
    return {LINK_SHAPE_LABEL: links.shape, LINK_DOMAIN_LABEL: str(widest)}


class FeatureFile:
    """A file of features that NFD's worker on this node reads."""

    def __init__(self, folder: Path) -> None:
        """Keep the folder; nothing is written yet."""
        self._file = folder / FEATURE_FILE
        self.trouble = ""
        """Why the file could not be written; empty if it was."""

    def write(self, labels: Mapping[str, str]) -> None:
        """Write the labels to the file if they differ; the worker sees the old file or the new one."""
        text = "".join(f"{key}={value}\n" for key, value in sorted(labels.items()))
        # Hidden files are no features (NFD source/local/local.go).
        partial = self._file.with_name(f".{FEATURE_FILE}.partial")
        try:
            with suppress(FileNotFoundError, UnicodeDecodeError):
                if self._file.read_text(encoding="utf-8") == text:
                    self.trouble = ""
                    return
            partial.write_text(text, encoding="utf-8")
            partial.replace(self._file)
        except OSError as error:
            self.trouble = f"{self._file}: cannot be written: {error.strerror}; want the folder mounted and writable"
        else:
            self.trouble = ""


# ---- the loop --------------------------------------------------------------------------------------------------------

Send = Callable[[Request], Answer]
Say = Callable[[Level, str], None]
"""Takes a line for the log."""


class Sight(Protocol):
    """The source of a topology: devices (``watch.Watch``), or a simulated machine."""

    @property
    def topology(self) -> NodeTopology | None:
        """The current topology; None before the first look."""

    @property
    def answers(self) -> bool:
        """Whether the driver answered at the last look."""

    def look(self) -> bool:
        """Look now; tell whether the topology has changed."""

    def wait(self, most_seconds: float = inf) -> None:
        """Wait until the next look is due, but not longer than this."""


class Played:
    """A simulated machine that never changes."""

    def __init__(self, topology: NodeTopology) -> None:
        """Keep its topology."""
        self._topology = topology
        self.topology: NodeTopology | None = None
        self.answers = True

    def look(self) -> bool:
        """Report a change the first time."""
        new, self.topology = self.topology is None, self._topology
        return new

    def wait(self, most_seconds: float = inf) -> None:
        """Sleep: it has no devices that could change."""
        time.sleep(min(most_seconds, _LONGEST_SLEEP_SECONDS))


_LONGEST_SLEEP_SECONDS = 3600.0  # time.sleep takes no inf


def instant() -> Instant:
    """Read both clocks."""
    return Instant(time.monotonic(), datetime.now(UTC))


def pump(publisher: Publisher, send: Send, now: Callable[[], Instant] = instant) -> int:
    """Send all requests that are due, and return their number.

    Requests that become due meanwhile wait for the next call: two that fail slowly would otherwise alternate for ever.
    """
    began, count = now().seconds, 0
    while (request := publisher.next_request(Instant(began, now().wall))) is not None:
        publisher.receive(request, send(request), now())
        count += 1
    return count


def publish(
    sight: Sight,
    publisher: Publisher,
    send: Send,
    *,
    say: Say,
    features: FeatureFile | None,
    now: Callable[[], Instant] = instant,
) -> None:
    """Keep the cluster's facts about the publisher's node up to date, for ever.

    Raises:
        DeviceError: nothing can be read at the start, or this process can never read again.
    """
    logged: dict[str, str] = {}
    while True:
        changed = sight.look()
        publisher.silent = not sight.answers
        if changed and sight.topology is not None:
            publisher.offer(encode_topology(publisher.node, sight.topology), link_labels(sight.topology))
        pump(publisher, send, now)
        troubles = dict(publisher.troubles)
        if features is not None and sight.topology is not None:
            if (labels := link_labels(sight.topology)) is not None:
                features.write(labels)
            if features.trouble:
                troubles["features"] = features.trouble
        _tell(logged, troubles, say)
        logged = troubles
        sight.wait(max(0.0, publisher.next_at() - now().seconds))


def _tell(before: dict[str, str], after: dict[str, str], say: Say) -> None:
    """Log troubles that are new or have changed, or that ended; lasting ones are not repeated."""
    for about, text in sorted(after.items()):
        if before.get(about) != text:
            say("warning", text)
    for about in sorted(before.keys() - after.keys()):
        say("info", f"{about}: works again")
