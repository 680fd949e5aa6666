"""The labels that placement needs and nobody else sets: how a node's GPUs are linked; and NFD's file for them."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..topology.model import NodeTopology
from ..wellknown import LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL

NFD_FOLDER = Path("/etc/kubernetes/node-feature-discovery/features.d")
"""https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide#local-feature-source"""
FEATURE_FILE = "podberth"


def link_labels(topology: NodeTopology) -> dict[str, str] | None:
    """Return a node's labels; None while nobody can tell: what was said before stays, for hardware seldom changes.

    Nor can a GPU that is ill: one that is lost has no links, and a full mesh of the others would be islands.
    """
    links = topology.links
    if links.shape == "unknown" or any(gpu.problem for gpu in topology.gpus):
        return None
    widest = max(map(len, links.domains), default=1)
    return {LINK_SHAPE_LABEL: links.shape, LINK_DOMAIN_LABEL: str(widest)}


class FeatureFile:
    """A file of features that NFD's worker on this node reads."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; nothing is written yet."""
        self._file = folder / FEATURE_FILE
        self.trouble = ""
        """Why it could not be written, in words; empty while all is well."""

    def write(self, labels: Mapping[str, str]) -> None:
        """Make the file say the labels, if it does not; the worker sees the old file or the new one."""
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
