"""Debian's containerd takes the archives by the command of docs/install.md, under the names that a kubelet asks for.

It runs in a folder of its own, without its CRI; no pod is made.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from controlplane.wait import wait_for
from pages import page

from .built import NAMES, VERSION, Image

CONFIGURATION = """version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{folder}/containerd.sock"
"""


@pytest.fixture(scope="module")
def address(containerd: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the socket of a containerd that has no image."""
    folder = tmp_path_factory.mktemp("containerd")
    (folder / "config.toml").write_text(CONFIGURATION.format(folder=folder))
    socket, log = folder / "containerd.sock", folder / "log"
    command = [str(containerd), "--config", str(folder / "config.toml")]
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_for(lambda: process.poll() is not None or socket.exists(), what="containerd")
            assert process.poll() is None, log.read_text()
            yield socket
        finally:
            process.terminate()


def test_it_imports_both_under_their_names(address: Path, images: Mapping[str, Image]) -> None:
    install = page("docs/install.md")
    for name in NAMES:
        archive = f"{name}-{VERSION}.tar"
        [command] = re.findall(rf"`(ctr --namespace k8s\.io images import {re.escape(archive)})`", install)
        # Where overlays may not be mounted, the plain snapshotter unpacks them; a node has the default.
        _ctr(address, images[name].archive.parent, *command.split()[1:], "--snapshotter", "native")
    lines = [line.split() for line in _ctr(address, address.parent, "--namespace", "k8s.io", "images", "ls")[1:]]
    assert {line[0]: line[2] for line in lines} == {
        f"docker.io/library/{name}:{VERSION}": images[name].entry["digest"] for name in NAMES
    }


def _ctr(address: Path, folder: Path, *arguments: str) -> list[str]:
    """Run ctr in a folder; return its lines."""
    command = ["ctr", "--address", str(address), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
