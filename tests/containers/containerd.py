"""Debian's containerd in a folder of its own, without its CRI: no pod is made of what it holds."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from controlplane.wait import wait_for
from pages import page

from .built import NAMES, VERSION, Image

_CONFIGURATION = """version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{folder}/containerd.sock"
"""


@contextmanager
def running(program: Path, folder: Path) -> Iterator[Path]:
    """Yield the socket of a containerd that has no image."""
    (folder / "config.toml").write_text(_CONFIGURATION.format(folder=folder))
    socket, log = folder / "containerd.sock", folder / "log"
    command = [str(program), "--config", str(folder / "config.toml")]
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_for(lambda: process.poll() is not None or socket.exists(), what="containerd")
            assert process.poll() is None, log.read_text()
            yield socket
        finally:
            process.terminate()


def import_all(socket: Path, images: Mapping[str, Image]) -> None:
    """Import both archives by the commands of docs/install.md."""
    for name in NAMES:
        command = f"ctr --namespace k8s.io images import {name}-{VERSION}.tar"
        assert f"`{command}`" in page("docs/install.md")
        # Where overlays may not be mounted, the plain snapshotter unpacks them; a node has the default.
        ctr(socket, images[name].archive.parent, *command.split()[1:], "--snapshotter", "native")


def ctr(socket: Path, folder: Path, *arguments: str) -> list[str]:
    """Run ctr in a folder; return its lines."""
    command = ["ctr", "--address", str(socket), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
