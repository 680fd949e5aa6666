"""A webhook in a thread, for what is not podberth: somebody else's mutation, or a recorder of what is sent."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from controlplane.cluster import ControlPlane

from .podberth_process import Endpoint

Document = dict[str, Any]
Answer = Callable[[str, Document], list[Document]]
"""From path and AdmissionReview to the JSON patch to answer with; an empty one lets the object be as it is."""


@contextmanager
def serving(control_plane: ControlPlane, answer: Answer) -> Iterator[Endpoint]:
    """Serve on 127.0.0.1 with the control plane's own certificate; yield where."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"answer": staticmethod(answer)}))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    folder = control_plane.ca_file.parent
    tls.load_cert_chain(folder / "serving.crt", folder / "serving.key")
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    # The apiserver keeps its connections for a minute and a half; nobody waits for them at the end.
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        ca_bundle = base64.b64encode(control_plane.ca_file.read_bytes()).decode()
        yield Endpoint(f"https://127.0.0.1:{server.server_port}", ca_bundle)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    # The apiserver reuses connections.
    protocol_version = "HTTP/1.1"
    answer: Answer

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = self.answer(self.path.partition("?")[0], review)
        response: Document = {"uid": review["request"]["uid"], "allowed": True}
        if patch:
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        body = json.dumps({**review, "request": None, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""
