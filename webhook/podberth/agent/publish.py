"""The agent's main loop: reads the devices, publishes the result, and waits for the next change or request."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ..telemetry.log import Level
from ..topology.codec import encode_topology
from ..topology.free_links import bucket, free_linked_gpus
from ..topology.node import NodeTopology
from ..topology.usage import Allocation
from ..wellknown import FREE_LINKED_LABEL, LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL
from .api_requests import ApiRequest, SendResult
from .publisher import Instant, Publisher
from .watch import DeviceWatch

# ---- the labels about links, which placement needs and nobody else sets ----------------------------------------------

NFD_FOLDER = Path("/etc/kubernetes/node-feature-discovery/features.d")
"""The directory of NFD's local feature files.

https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide#local-feature-source
"""
FEATURE_FILE = "podberth"


def link_labels(topology: NodeTopology) -> dict[str, str] | None:
    """Return the node labels (key to value) that describe the links between the node's GPUs; None if unknown.

    The links are unknown while a GPU is unhealthy: a lost GPU has no links, so a full mesh would look like islands. The
    earlier labels then stay, because hardware seldom changes.
    """
    links = topology.links
    if links.shape == "unknown" or any(gpu.problem for gpu in topology.gpus):
        return None
    widest = max(map(len, links.domains), default=1)
    return {LINK_SHAPE_LABEL: links.shape, LINK_DOMAIN_LABEL: str(widest)}


def free_labels(topology: NodeTopology, allocation: Allocation | None) -> dict[str, str]:
    """Return the node label (key to value) with the free GPUs that are linked; no label if their number is unknown.

    ``allocation`` is None if the kubelet did not answer.
    """
    count = None if allocation is None else free_linked_gpus(topology, allocation)
    return {} if count is None else {FREE_LINKED_LABEL: str(bucket(count))}


class FeatureFile:
    """A file with node labels that NFD's worker on the node reads and publishes."""

    def __init__(self, folder: Path) -> None:
        """Note the directory of the file; ``write`` creates the file."""
        self._file = folder / FEATURE_FILE
        self.trouble = ""
        """The reason why the file could not be written; empty if the file was written."""

    def write(self, labels: Mapping[str, str]) -> None:
        """Write the labels to the file if the labels have changed. NFD's worker sees either the old or the new file."""
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

Send = Callable[[ApiRequest], SendResult]
Say = Callable[[Level, str], None]
"""A function that writes a line to the log."""


def instant() -> Instant:
    """Return the present moment, read from the monotonic clock and the wall clock."""
    return Instant(time.monotonic(), datetime.now(UTC))


def pump(publisher: Publisher, send: Send, now: Callable[[], Instant] = instant) -> int:
    """Send all due requests of the publisher, and return the number of requests.

    Requests that become due during the call wait for the next call: otherwise two requests that fail slowly would
    alternate for ever.
    """
    began, count = now().seconds, 0
    while (request := publisher.next_request(Instant(began, now().wall))) is not None:
        publisher.receive(request, send(request), now())
        count += 1
    return count


def publish(
    sight: DeviceWatch,
    publisher: Publisher,
    send: Send,
    *,
    say: Say,
    features: FeatureFile | None,
    now: Callable[[], Instant] = instant,
) -> None:
    """Read the node's devices and publish the results, until an error ends the agent.

    The topology that ``sight`` reads goes to the API server through ``publisher``. The labels go to the file
    ``features``, too; ``features`` is None if the agent writes no file with labels. If ``sight`` has ``allocation``,
    the label with the free GPUs is written, too. The holders are asked for after the documents are sent, because a
    kubelet that hangs must not delay the report of a GPU's fault.

    Raises:
        DeviceError: nothing can be read at the start, or a later reading fails in a way that no retry helps.
    """
    logged: dict[str, str] = {}
    while True:
        changed = sight.look()
        publisher.silent = not sight.answers
        if changed and sight.topology is not None:
            publisher.offer(encode_topology(publisher.node, sight.topology), link_labels(sight.topology))
        pump(publisher, send, now)
        if sight.allocation is not None and sight.topology is not None:
            publisher.live = free_labels(sight.topology, sight.allocation() if sight.answers else None)
            pump(publisher, send, now)
        troubles = dict(publisher.troubles)
        if features is not None and sight.topology is not None:
            if (labels := link_labels(sight.topology)) is not None:
                features.write(labels)
            if features.trouble:
                troubles["features"] = features.trouble
        _log_changes(logged, troubles, say)
        logged = troubles
        sight.wait(max(0.0, publisher.next_at() - now().seconds))


def _log_changes(before: dict[str, str], after: dict[str, str], say: Say) -> None:
    """Log each failure in ``after`` that is new or has changed, and each failure in ``before`` that has ended.

    Both are mappings from the name of the failing object, such as "Node node-1", to the message about the failure.
    """
    for about, text in sorted(after.items()):
        if before.get(about) != text:
            say("warning", text)
    for about in sorted(before.keys() - after.keys()):
        say("info", f"{about}: works again")
