"""An image as an OCI archive: the tar of an image layout with one image.

https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .layers import MEDIA_TYPE, Layer
from .recipe import ENVIRONMENT, USER, Recipe

_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
# A name without a host stands for this one: "Docker normalization" of github.com/distribution/reference, by which a
# kubelet looks for what a manifest calls podberth:0.1.0. containerd takes the annotation for the name of what it
# imports, as it is (core/images/annotations.go).
_NORMALIZED = "docker.io/library"
_NAME = "io.containerd.image.name"
_TAG = "org.opencontainers.image.ref.name"


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a build: version, commit, time of the commit in seconds, and the architecture, as Go names it."""

    version: str
    revision: str
    epoch: int
    architecture: str

    @property
    def created(self) -> str:
        """The time, as RFC 3339 has it."""
        return datetime.fromtimestamp(self.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write(file: Path, recipe: Recipe, layers: Sequence[Layer], origin: Origin) -> str:
    """Write the archive; return the digest of the image's manifest, ``sha256:...``."""
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": blob(_CONFIG, _json(_config(recipe, layers, origin))),
        "layers": [blob(MEDIA_TYPE, each.file.read_bytes()) for each in layers],
    }
    described = blob(_MANIFEST, _json(manifest))
    described["platform"] = {"architecture": origin.architecture, "os": "linux"}
    described["annotations"] = {
        _NAME: f"{_NORMALIZED}/{recipe.name}:{origin.version}",
        _TAG: origin.version,
    }
    index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [described]}
    layout = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index)}
    with tarfile.open(file, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in {**layout, **dict(sorted(blobs.items()))}.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), origin.epoch, 0o644
            archive.addfile(entry, io.BytesIO(content))
    return str(described["digest"])


def _config(recipe: Recipe, layers: Sequence[Layer], origin: Origin) -> dict[str, Any]:
    labels = {
        "org.opencontainers.image.title": recipe.name,
        "org.opencontainers.image.version": origin.version,
        "org.opencontainers.image.revision": origin.revision,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    return {
        "created": origin.created,
        "architecture": origin.architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Env": list(ENVIRONMENT),
            "Entrypoint": ["podberth"],
            "Cmd": [recipe.command],
            "WorkingDir": "/",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{each.diff_id}" for each in layers]},
        "history": [{"created": origin.created, "created_by": f"make images: {each.title}"} for each in layers],
    }


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
