"""AdmissionReviews as an API server sends them, over HTTPS, and what the answers say."""

import base64
import http.client
import json
import ssl
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from podberth.kube.patch import Patch

Document = dict[str, Any]

# The API server's own bound for a webhook that names none (admissionregistration/v1, timeoutSeconds).
_TIMEOUT_SECONDS = 10.0
_PLURALS = {"Pod": "pods", "Deployment": "deployments", "Job": "jobs", "DaemonSet": "daemonsets"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What podberth said to one review."""

    patch: Patch
    warnings: tuple[str, ...]
    denial: str
    """The message; empty: allowed."""
    seconds: float
    """How long the round trip took."""


class Webhook:
    """One kept-alive connection to podberth, as an API server holds it."""

    def __init__(self, url: str, ca_file: Path) -> None:
        """Connect with the first review; the certificate is verified against ``ca_file``."""
        tls = ssl.create_default_context(cafile=str(ca_file))
        self._connection = http.client.HTTPSConnection(
            urllib.parse.urlsplit(url).netloc, context=tls, timeout=_TIMEOUT_SECONDS
        )

    def ask(self, path: str, document: Document, namespace: str) -> Answer:
        """Send the creation of a document and return the answer.

        Raises:
            http.client.HTTPException: the answer is no AdmissionReview.
        """
        review = _review(document, namespace)
        body = json.dumps(review).encode()
        started = time.perf_counter()
        self._connection.request("POST", f"{path}?timeout=10s", body, {"Content-Type": "application/json"})
        answered = self._connection.getresponse()
        text = answered.read()
        seconds = time.perf_counter() - started
        if answered.status != http.client.OK:
            raise http.client.HTTPException(f"{path}: status {answered.status}: {text[:500].decode(errors='replace')}")
        response = json.loads(text)["response"]
        return Answer(
            patch=json.loads(base64.b64decode(response.get("patch", ""))) if response.get("patch") else [],
            warnings=tuple(response.get("warnings", ())),
            denial="" if response["allowed"] else response["status"]["message"],
            seconds=seconds,
        )

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _review(document: Document, namespace: str) -> Document:
    group, _, version = document["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": document["kind"]}
    resource = {"group": group, "version": version, "resource": _PLURALS[document["kind"]]}
    metadata = {**document["metadata"], "namespace": namespace}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": str(uuid4()),
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": metadata.get("name", ""),
            "namespace": namespace,
            "operation": "CREATE",
            "userInfo": {"username": "researcher", "groups": ["system:authenticated"]},
            "object": {**document, "metadata": metadata},
            "oldObject": None,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        },
    }
