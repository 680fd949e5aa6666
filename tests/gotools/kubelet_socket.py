"""A kubelet's PodResources socket for a test: the published service (kubelet/main.go), and what it answers."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nvml.scenario import replace_file


class KubeletSocket:
    """The socket and its server, which may be stopped and started again."""

    def __init__(self, program: Path, folder: Path) -> None:
        """Choose the places; nothing listens yet."""
        self._program = program
        self.path = folder / "kubelet.sock"
        self._answer = folder / "answer"
        self._process: subprocess.Popen[str] | None = None
        self.answer({})

    def answer(self, answer: Mapping[str, Any] | str) -> None:
        """Say what every call from now on gets: a ListPodResourcesResponse as JSON, or a word of main.go's."""
        replace_file(self._answer, answer if isinstance(answer, str) else json.dumps(answer))

    def start(self) -> None:
        """Listen; return when that is so."""
        command = [str(self._program), str(self.path), str(self._answer)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "listening\n"

    def stop(self) -> None:
        """Stop as a kubelet that is killed does; the socket's file is left behind."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


@contextmanager
def kubelet_socket(program: Path, folder: Path) -> Iterator[KubeletSocket]:
    """Run one until the block ends."""
    socket = KubeletSocket(program, folder)
    socket.start()
    try:
        yield socket
    finally:
        socket.stop()


def pod(name: str, *devices: tuple[str, Sequence[str]], namespace: str = "team-a") -> dict[str, Any]:
    """Return a pod of one container with devices, each a resource's name and ids, as JSON of PodResources."""
    held = [{"resourceName": resource, "deviceIds": list(ids)} for resource, ids in devices]
    return {"name": name, "namespace": namespace, "containers": [{"name": "main", "devices": held}]}
