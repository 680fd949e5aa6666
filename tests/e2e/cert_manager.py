"""cert-manager in a cluster of the tests' own: its CRDs, our component as rendered, and its controllers running."""

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.process import GO, Component, Guard, Launch
from controlplane.wait import wait_for
from crds import FOLDER, read
from podberth.cluster.shared_ca import KINDS
from podberth.kube.documents import load_documents
from podberth.wellknown import NAMESPACE

from .operator_crds import install
from .podberth_process import ROOT, Endpoint
from .registration import pointed, shipped
from .replicas import SECONDS

Document = dict[str, Any]

GROUP_PATH = f"/apis/cert-manager.io/v1/namespaces/{NAMESPACE}"
CA, SERVING = "podberth-ca", "podberth-serving"
"""The Certificates of certs/cert-manager."""
_SECRETS = {CA: "podberth-cert-manager-ca", SERVING: "podberth-tls"}
_HOST = "127.0.0.1"


def install_crds(plane: ControlPlane) -> None:
    """Install its CRDs; return when they are served."""
    files = sorted((FOLDER / "cert-manager").glob("*.yaml"))
    install(plane, {crd["metadata"]["name"]: crd for file in files for crd in read(file)})


def rendered(plane: ControlPlane, folder: Path) -> list[Document]:
    """Return the shipped configurations with the component, as kustomize makes them below ``folder``."""
    overlay = folder / "overlay"
    overlay.mkdir(exist_ok=True)
    (overlay / "configurations.yaml").write_text("---\n".join(json.dumps(each) + "\n" for each in shipped()))
    component = os.path.relpath(ROOT / "certs" / "cert-manager", overlay.resolve())
    document = {"resources": ["configurations.yaml"], "components": [component]}
    (overlay / "kustomization.yaml").write_text(json.dumps(document))
    done = plane.kubectl("kustomize", str(overlay))
    return [each.document for each in load_documents(done.stdout, "rendered")[0]]


def leading_here(documents: list[Document], port: int) -> list[Document]:
    """Return rendered documents with a URL in the place of each Service, and a certificate for it."""
    endpoint = Endpoint(f"https://{_HOST}:{port}", "")
    changed = [pointed(each, endpoint) if each["kind"] in KINDS else deepcopy(each) for each in documents]
    for document in changed:
        for webhook in document.get("webhooks", ()):
            del webhook["clientConfig"]["caBundle"]
        if document["metadata"]["name"] == SERVING:
            document["spec"]["ipAddresses"] = [_HOST]
    return changed


class CertManager:
    """Its controllers and its injector, running, and what they have made."""

    def __init__(self, plane: ControlPlane, process: Component) -> None:
        self._plane = plane
        self._process = process

    def secret(self, certificate: str, *, other_than: str = "") -> dict[str, bytes]:
        """Return what the Secret of a Certificate holds once there is a certificate in it, another one than this."""

        def issued() -> dict[str, bytes] | None:
            self._process.check()
            path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{_SECRETS[certificate]}"
            status, body = self._plane.raw("GET", path)
            if status != 200:
                return None
            data = {key: base64.b64decode(value) for key, value in json.loads(body)["data"].items()}
            return data if data.get("tls.crt") and data["tls.crt"].decode() != other_than else None

        return wait_for(
            issued,
            timeout_seconds=SECONDS,
            what=lambda: f"{certificate} to be issued: {self._certificate(certificate)}",
        )

    def injected(self, authority: bytes) -> None:
        """Return once every caBundle has the authority."""
        wait_for(
            lambda: all(authority.decode().strip() in each for each in self._bundles()),
            timeout_seconds=SECONDS,
            what="the injector to write every caBundle",
        )

    def renew(self, certificate: str) -> dict[str, bytes]:
        """Ask for another certificate as `cmctl renew` does, by a condition; return what the Secret holds then."""
        before = self.secret(certificate)["tls.crt"].decode()
        path = f"{GROUP_PATH}/certificates/{certificate}"
        asks = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by a test"}

        def asked() -> bool:
            document = self._certificate(certificate)
            conditions = {each["type"]: each for each in document.get("status", {}).get("conditions", ())}
            if conditions.get("Issuing", {}).get("status") == "True":
                return False
            document.setdefault("status", {})["conditions"] = [*({**conditions, "Issuing": asks}).values()]
            return self._plane.raw("PUT", f"{path}/status", document)[0] == 200  # a 409 is asked again

        wait_for(asked, timeout_seconds=SECONDS, what=f"{certificate} to be at rest")
        return self.secret(certificate, other_than=before)

    def _certificate(self, name: str) -> Document:
        found: Document = self._plane.api.read(f"{GROUP_PATH}/certificates/{name}")
        return found

    def _bundles(self) -> Iterator[str]:
        for path in KINDS.values():
            for webhook in self._plane.api.read(f"{path}/podberth")["webhooks"]:
                yield base64.b64decode(webhook["clientConfig"].get("caBundle", "")).decode()


@contextmanager
def running(program: Path, plane: ControlPlane, folder: Path) -> Iterator[CertManager]:
    """Run the program as administrator; its CRDs must be served."""
    guard = Guard()
    command = (str(program), str(plane.kubeconfig))
    process = Component(Launch("cert-manager", command, GO, folder / "cert-manager.log", lambda: True), guard)
    try:
        yield CertManager(plane, process)
    finally:
        process.stop()
        guard.close()
