"""The labels about links between a node's GPUs, which placement needs and nobody else sets; and NFD's file for them."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..topology.model import NodeTopology
from ..wellknown import LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL

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
