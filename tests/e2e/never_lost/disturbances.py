"""What is done to podberth and its cluster under load: each function is one round of it.

It returns how many creations may suffer of the round, if its promise allows any.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from controlplane.wait import wait_for

from ..load import Load
from ..replicas import SECONDS, Replica
from .local import Local
from .stage import pace

# Enough to be noticed if each took something that a review needs: of each, half to either replica.
SLOW_CLIENTS = 50
SILENT_CONNECTIONS = 100
# Creations that have to go well while it lasts.
_MEANWHILE = 20
_DROPPED = "log_lines_dropped_total"
_LONG = b"Content-Length: 100000\r\n\r\n"
_HEAD = b"POST /mutate HTTP/1.1\r\nHost: podberth\r\nContent-Type: application/json\r\n"


def rolling_restart(stage: Local, running: Load) -> int:
    """End each replica with SIGTERM and start it again, one after the other, as a Deployment does."""
    for each in stage.group.each:
        each.stop()
        each.start()
        running.more(_MEANWHILE // 2)
    return 0


def rotation(stage: Local, running: Load) -> int:
    """Rotate the authority, and with it every leaf, as after a leaked key."""
    status, output, errors = stage.group.podberth("certs", "rotate", "--force", "--wait", "120s")
    assert status == 0, (output, errors)
    running.more(_MEANWHILE // 2)
    return 0


def sigkill(stage: Local, running: Load) -> int:
    """Kill a replica; each connection that was open to it may cost the one review that was on its way."""
    replica, balancer = stage.group.each[stage.busiest(running)], stage.group.balancer
    tried, connections = balancer.tried[replica.port], balancer.open_to(replica.port)
    replica.stop(crash=True)
    running.more(_MEANWHILE)
    most = connections + balancer.tried[replica.port] - tried
    replica.start()
    return most


def replica_stands_still(stage: Local, running: Load) -> None:
    """Hold a replica still, that takes connections and answers nothing."""
    replica = stage.group.each[stage.busiest(running)]
    with replica.paused():
        running.more(_MEANWHILE)
    wait_for(replica.ready, timeout_seconds=SECONDS, what="the replica to answer again")


def api_server_restart(stage: Local, running: Load) -> int:
    """Stop the API server and start it again; ready once it says so."""
    stage.control_plane.stop_component("kube-apiserver")
    stage.control_plane.start_component("kube-apiserver")
    running.more(_MEANWHILE // 2)
    return 0


def etcd_pause(stage: Local, running: Load) -> int:
    """Hold etcd still until the API server misses it."""
    plane = stage.control_plane
    with plane.paused("etcd"):
        wait_for(lambda: plane.raw("GET", "/readyz/etcd")[0] != 200, timeout_seconds=SECONDS, what="etcd to be missed")
    wait_for(lambda: plane.raw("GET", "/readyz")[0] == 200, timeout_seconds=SECONDS, what="etcd to be back")
    running.more(_MEANWHILE // 2)
    return 0


def policy_change(stage: Local, _: Load) -> int:
    """Change a policy, and wait a second."""
    stage.ground.change_policy()
    pace(1.0)
    return 0


def node_change(stage: Local, _: Load) -> int:
    """Change a node, and wait a tenth of a second."""
    stage.ground.change_node()
    pace(0.1)
    return 0


def slow_client(stage: Local, running: Load) -> int:
    """Have clients that send a byte at a time: a third of them their hello, a third headers, a third a body."""
    with ExitStack() as open_connections:
        dribbling = []
        for number in range(SLOW_CLIENTS):
            client = open_connections.enter_context(_tcp(stage.group.each[number % 2]))
            left = _hello()
            if number % 3:
                client = open_connections.enter_context(_tls(client))
                client.sendall(_HEAD if number % 3 == 1 else _HEAD + _LONG)
                left = b"X" * len(left)
            dribbling.append((client, left))
        with _dribble(dribbling):
            running.more(_MEANWHILE)
    return 0


def half_open(stage: Local, running: Load) -> int:
    """Have connections whose other end is silent, half of them before TLS, half within a request; then reset them."""
    with ExitStack() as open_connections:
        for number in range(SILENT_CONNECTIONS):
            client = open_connections.enter_context(_tcp(stage.group.each[number % 2]))
            # Closing is then a reset (socket(7), SO_LINGER), as of a machine that was away and is back.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if number % 4 > 1:
                open_connections.enter_context(_tls(client)).sendall(_HEAD + _LONG)
        running.more(_MEANWHILE)
    running.more(_MEANWHILE // 2)
    return 0


def full_disk(stage: Local, running: Load) -> int:
    """Leave no room where the replicas log to, until lines are lost and reviews have gone on; then make room."""
    on = [(disk, replica.pid) for disk, replica in zip(stage.disks, stage.group.each, strict=True)]
    for disk, pid in on:
        disk.fill(pid)
    try:
        before = sum(stage.group.metrics(_DROPPED))
        # By either: one of them may be asked nothing.
        wait_for(
            lambda: sum(stage.group.metrics(_DROPPED)) > before, timeout_seconds=SECONDS, what="lines to be dropped"
        )
        running.more(_MEANWHILE)
    finally:
        for disk, pid in on:
            disk.free(pid)
    return 0


def _tcp(replica: Replica) -> socket.socket:
    return socket.create_connection((replica.host, replica.port), timeout=SECONDS)


def _tls(client: socket.socket) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # who answers is no question here
    return context.wrap_socket(client)


def _hello() -> bytes:
    """Return the first message of a handshake."""
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="podberth").do_handshake()
    return sent.read()


@contextmanager
def _dribble(clients: list[tuple[socket.socket, bytes]]) -> Iterator[None]:
    """Send a byte on each connection five times a second, until the block ends; podberth may lose its patience."""
    stop = threading.Event()

    def send() -> None:
        place = 0
        while not stop.wait(0.2):
            for client, text in clients:
                with suppress(OSError):
                    client.sendall(text[place : place + 1])
            place += 1

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
