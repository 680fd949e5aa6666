"""Somebody else's mutating webhook, called after podberth: it adds a container to every pod of one namespace."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.credentials import Credentials

from .space import Space

Document = dict[str, Any]

# After "podberth" in the order of names, which is the order of calls (apiserver pkg/admission/configuration).
NAME = "zz-sidecar.test"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    container: Document

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        response: Document = {"uid": request["uid"], "allowed": True}
        if all(each["name"] != self.container["name"] for each in request["object"]["spec"]["containers"]):
            patch = [{"op": "add", "path": "/spec/containers/-", "value": self.container}]
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextmanager
def serving(container: Document, credentials: tuple[Path, Path]) -> Iterator[str]:
    """Run the webhook with a certificate and key; yield its URL."""
    handler = type("Handler", (_Handler,), {"container": container})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*credentials)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
