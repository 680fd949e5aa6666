"""The archives of `make images`, read by the specification, and their file systems in folders of the test's own.

https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
"""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import ROOT

VERSION = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
NAMES = ("podberth", "podberth-agent")


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its archive, its entry of the index, its configuration, and the folder that it is unpacked in."""

    archive: Path
    entry: Mapping[str, Any]
    config: Mapping[str, Any]
    root: Path

    @classmethod
    def unpacked(cls, archive: Path, root: Path) -> "Image":
        """Read an archive, compare every digest in it with what it is of, and unpack its layers."""
        with tarfile.open(archive) as held:
            files = {each.name: held.extractfile(each).read() for each in held.getmembers()}  # type: ignore[union-attr]

        def blob(descriptor: Mapping[str, Any]) -> bytes:
            content = files.pop(_blob(descriptor))
            got = f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)
            assert got == (descriptor["digest"], descriptor["size"])
            return content

        assert json.loads(files.pop("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
        [entry] = json.loads(files.pop("index.json"))["manifests"]
        manifest = json.loads(blob(entry))
        config = json.loads(blob(manifest["config"]))
        root.mkdir()
        for layer, diff_id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            tar = gzip.decompress(blob(layer))
            assert f"sha256:{hashlib.sha256(tar).hexdigest()}" == diff_id
            with tarfile.open(fileobj=io.BytesIO(tar)) as members:
                members.extractall(root, filter="tar")
        assert not files, "the archive has more than its image"
        return cls(archive, entry, config, root)

    @property
    def spdx(self) -> Path:
        """The list beside the archive."""
        return self.archive.with_suffix(".spdx.json")

    @property
    def environ(self) -> dict[str, str]:
        """The variables of the image; of the machine's there are none."""
        return dict(each.split("=", 1) for each in self.config["config"]["Env"])

    @property
    def unpacked_bytes(self) -> int:
        """The sum of the sizes of its files."""
        files = [each for each in self.root.rglob("*") if each.is_file() and not each.is_symlink()]
        return sum(each.stat().st_size for each in files)

    def enter(self, place: Path) -> tuple[str, ...]:
        """Return what a command begins with to run as the manifests have it, with the folder ``place`` at its own path.

        Nobody is root, the file system cannot be written to, and no program can gain rights. It needs root itself, for
        mounts that end with the process, and gives ``place`` to the user of the image.
        """
        user = self.config["config"]["User"]
        inside = self.root / place.relative_to("/")
        inside.mkdir(parents=True, exist_ok=True)
        script = (
            'root=$1; chown -R "$3" "$2"; mount --bind "$root" "$root"; mount --bind "$2" "$root$2"; '
            'mount --bind /dev "$root/dev"; mount -t proc proc "$root/proc"; mount -o remount,bind,ro "$root"; '
            'shift 3; exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$USERSPEC" "$root" "$@"'
        ).replace("$USERSPEC", user)
        apart = ("unshare", "--mount", "--propagation", "private", "bash", "-euc", script)
        return (*apart, "enter", str(self.root), str(place), user)

    def run(self, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run podberth in it."""
        command = (*self.enter(place), *self.config["config"]["Entrypoint"], *arguments)
        return subprocess.run(command, env=self.environ, capture_output=True, text=True, check=False)


def build(output: Path) -> dict[str, Path]:
    """Build both images into a folder, as `make images` does; return the archives by name."""
    done = subprocess.run(
        [sys.executable, "-m", "images", "--output", str(output)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: output / f"{name}-{VERSION}.tar" for name in NAMES}


def for_architecture(archive: Path, target: Path, architecture: str) -> str:
    """Write the archive of an image as if it were of an architecture; return the digest of its manifest."""
    with tarfile.open(archive) as held:
        files = {each.name: held.extractfile(each).read() for each in held.getmembers()}  # type: ignore[union-attr]

    def put(descriptor: dict[str, Any], document: Mapping[str, Any]) -> None:
        content = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
        del files[_blob(descriptor)]
        descriptor |= {"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}
        files[_blob(descriptor)] = content

    index = json.loads(files["index.json"])
    [entry] = index["manifests"]
    manifest = json.loads(files[_blob(entry)])
    put(manifest["config"], json.loads(files[_blob(manifest["config"])]) | {"architecture": architecture})
    put(entry, manifest)
    entry["platform"]["architecture"] = architecture
    files["index.json"] = json.dumps(index).encode()
    with tarfile.open(target, "w") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return str(entry["digest"])


def _blob(descriptor: Mapping[str, Any]) -> str:
    return "blobs/" + str(descriptor["digest"]).replace(":", "/")
