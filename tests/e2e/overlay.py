"""The shipped overlay where no Service leads anywhere: all of its objects, with the webhooks at a URL.

Nothing else of it is changed, and no more is added than components of manifests/components that the caller names, as
fail-closed, with which a review that is not answered is seen; tests/deployment/test_redirected.py compares the two.
"""

import json
import os
from pathlib import Path
from typing import Any

from controlplane.client import Cluster
from podberth.kube.documents import load_documents

from .podberth_process import ROOT
from .registration import shipped

Document = dict[str, Any]

OVERLAY = ROOT / "manifests" / "overlays" / "self-signed"
"""What docs/install.md installs first."""
_COMPONENTS = ROOT / "manifests" / "components"


def write_overlay(directory: Path, url: str, *components: str) -> None:
    """Write a kustomization of the overlay, and of these components, with its webhooks at a URL."""
    patches = []
    for configuration in shipped():
        steps: list[Document] = []
        for number, webhook in enumerate(configuration["webhooks"]):
            client = {"url": url + webhook["clientConfig"]["service"]["path"]}
            steps += [
                {"op": "test", "path": f"/webhooks/{number}/name", "value": webhook["name"]},
                {"op": "replace", "path": f"/webhooks/{number}/clientConfig", "value": client},
            ]
        target = {"kind": configuration["kind"], "name": configuration["metadata"]["name"]}
        patches.append({"target": target, "patch": json.dumps(steps)})
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        # kustomize takes relative paths only.
        "resources": [os.path.relpath(OVERLAY, directory.resolve())],
        "components": [os.path.relpath(_COMPONENTS / each, directory.resolve()) for each in components],
        "patches": patches,
    }
    (directory / "kustomization.yaml").write_text(json.dumps(kustomization), encoding="utf-8")


def webhook_container(cluster: Cluster) -> Document:
    """Return the container of the overlay's Deployment."""
    rendered = cluster.kubectl("kustomize", str(OVERLAY)).stdout
    objects = [each.document for each in load_documents(rendered, OVERLAY.name)[0]]
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return dict(container)
