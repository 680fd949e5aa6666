"""Debian's containerd takes the archives by the command of docs/install.md, under the names that a kubelet asks for."""

from collections.abc import Mapping
from pathlib import Path

from .built import NAMES, VERSION, Image
from .containerd import ctr, import_all, running


def test_it_imports_both_under_their_names(containerd: Path, images: Mapping[str, Image], tmp_path: Path) -> None:
    with running(containerd, tmp_path) as socket:
        import_all(socket, images)
        lines = [line.split() for line in ctr(socket, tmp_path, "--namespace", "k8s.io", "images", "ls")[1:]]
    assert {line[0]: line[2] for line in lines} == {
        f"docker.io/library/{name}:{VERSION}": images[name].entry["digest"] for name in NAMES
    }
