"""A Service of the tests' own: forwards each connection to one of the ready replicas, and counts who closes it.

As kube-proxy does: the choice is made once a connection, among the endpoints that are ready at that moment.
"""

import itertools
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from controlplane.ports import Ports

_CHUNK = 65536


class Balancer:
    """Listens on a port of its own. ``backends`` is asked for the ports of those that are ready."""

    def __init__(self, backends: Callable[[], Sequence[int]], host: str = "127.0.0.1") -> None:
        self._ports = Ports()
        self.port = self._ports.take()
        self._backends = backends
        self._turn = itertools.count()
        self._open: set[socket.socket] = set()
        self._closing = False
        self.accepted = 0
        self.closed_by_server = 0
        self.tried: Counter[int] = Counter()
        """By the port of a backend, the connections that were begun to it, those included that it did not take."""
        self._ended: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._listener = socket.create_server((host, self.port), backlog=512)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def open_to(self, port: int) -> int:
        """Return how many connections to a backend are open."""
        with self._lock:
            return self.tried[port] - self._ended[port]

    def close(self) -> None:
        """End it, and every connection."""
        self._closing = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        for each_thread in self._threads:
            each_thread.join()
        self._ports.release()

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            ready = self._backends()
            if not ready:
                client.close()
                continue
            port = ready[next(self._turn) % len(ready)]
            with self._lock:
                self.tried[port] += 1
            try:
                server = socket.create_connection(("127.0.0.1", port), timeout=5)
            except OSError:
                client.close()
                with self._lock:
                    self._ended[port] += 1
                continue
            server.settimeout(None)
            self.accepted += 1
            with self._lock:
                self._open |= {client, server}
            thread = threading.Thread(target=self._serve, args=(client, server, port))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket, server: socket.socket, port: int) -> None:
        back = threading.Thread(target=self._pump, args=(server, client))
        back.start()
        client_first = self._pump(client, server)
        back.join()
        if not client_first and not self._closing:
            self.closed_by_server += 1
        with self._lock:
            self._open -= {client, server}
            self._ended[port] += 1
            client.close()
            server.close()

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> bool:
        """Forward until the source ends or the target does not take it; return whether the source ended by itself."""
        ended = False
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                target.sendall(chunk)
            # A connection that we shut down ourselves, because the other end of it was closed, cannot be sent to.
            ended = _writable(source)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return ended


def _writable(end: socket.socket) -> bool:
    """Return whether our half of a connection is still open."""
    try:
        end.send(b"")
    except OSError:
        return False
    return True
