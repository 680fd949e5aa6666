"""What kustomize makes of manifests/: an overlay as it ships, or the base with components of one's own choice."""

import os
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from pages import ROOT
from podberth.kube.documents import load_documents

Document = dict[str, Any]
MANIFESTS = ROOT / "manifests"
OVERLAYS = tuple(sorted(each.name for each in (MANIFESTS / "overlays").iterdir()))
STRICT = ("--server-side", "--force-conflicts", "--validate=strict", "--dry-run=server")
"""Of kubectl apply: what a real API server says about objects, without making them."""
_RENDERED: dict[str, str] = {}
COMPONENTS = tuple(sorted(each.name for each in (MANIFESTS / "components").iterdir()))


def overlay(control_plane: ControlPlane, name: str) -> list[Document]:
    """Return the objects of an overlay, which is rendered once: kubectl asks no cluster for that."""
    if name not in _RENDERED:
        _RENDERED[name] = control_plane.kubectl("kustomize", str(MANIFESTS / "overlays" / name)).stdout
    return documents(_RENDERED[name])


def composed(directory: Path, components: Iterable[str]) -> Path:
    """Write a kustomization of the base and components, as docs/install.md says."""
    # kustomize takes relative paths only.
    places = {each: os.path.relpath(MANIFESTS / each, directory) for each in ("base", "components")}
    lines = [
        f"resources: [{places['base']}]",
        "components:",
        *(f"- {places['components']}/{each}" for each in components),
    ]
    (directory / "kustomization.yaml").write_text("\n".join(lines) + "\n")
    return directory


def documents(text: str) -> list[Document]:
    """Return the objects of a rendered text."""
    found, problems = load_documents(text, "rendered.yaml")
    assert problems == []
    return [each.document for each in found]


def only(objects: Iterable[Document], kind: str, name: str = "podberth") -> Document:
    """Return the one object of a kind and name."""
    [found] = [each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def unfolded(document: Any) -> Any:
    """Return the document with each run of blanks in a text as one, and a pod's variables, mounts and volumes by name.

    kustomize writes a folded text (`>-`) with more line breaks than it has read; CEL takes all blanks for one. Of such
    a list it puts those first that a patch changes.
    """
    if isinstance(document, dict):
        unordered = {"env", "volumeMounts", "volumes"} & {
            key for key, each in document.items() if isinstance(each, list)
        }
        named = {key: sorted(document[key], key=itemgetter("name")) for key in unordered}
        return {key: unfolded(each) for key, each in {**document, **named}.items()}
    if isinstance(document, list):
        return [unfolded(each) for each in document]
    return " ".join(document.split()) if isinstance(document, str) else document
