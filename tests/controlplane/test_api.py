"""What a request brings back besides its document."""

import gc
import select
import socket
import ssl
import struct
from http import HTTPStatus

import pytest

from builders import container, pod

from .cluster import ControlPlane
from .wait import wait_for


def test_a_warning_is_the_line_that_kubectl_prints(control_plane: ControlPlane) -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    path = "/api/v1/namespaces/default/pods?dryRun=All"
    answer = control_plane.api.ask("POST", path, pod(container(env=twice)))
    assert answer.status == HTTPStatus.CREATED
    [warning] = answer.warnings
    assert warning.startswith('spec.containers[0].env[1]: hides previous definition of "A"')
    said = control_plane.kubectl("create", "--raw", path, "-f", "-", input=answer.content.decode(), check=False)
    assert f"Warning: {warning}" in said.stderr.splitlines()
    assert control_plane.api.ask("POST", path, pod()).warnings == ()


def test_a_connection_that_is_reset_before_its_handshake_fails_no_test_by_a_warning() -> None:
    """It is what a killed API server leaves; pyproject.toml says whose fault the warning is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() resets
        accepted.close()
    poll = select.poll()
    poll.register(client)
    wait_for(lambda: poll.poll(0)[0][1] & select.POLLERR, what="the reset")
    with pytest.raises(ConnectionResetError):
        ssl.create_default_context().wrap_socket(client, server_hostname="localhost")
    gc.collect()
