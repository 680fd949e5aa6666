"""Layers: a folder as a compressed tar whose bytes depend on names, modes and contents alone.

https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md
"""

import gzip
import hashlib
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

MEDIA_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer; ``diff_id`` is the SHA-256 of the tar, in hex, and ``unpacked_bytes`` the sum of its files' sizes."""

    title: str
    file: Path
    diff_id: str
    unpacked_bytes: int


def pack(title: str, root: Path, file: Path, epoch: int) -> Layer:
    """Write the layer of a folder; every file is root's, and none is newer than ``epoch``, in seconds."""
    tar = file.with_suffix(".tar")
    unpacked = 0
    with tarfile.open(tar, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            entry = _entry(archive, path, str(path.relative_to(root)), epoch)
            if entry.isreg():
                unpacked += entry.size
                with path.open("rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)
    with tar.open("rb") as content:
        diff_id = hashlib.file_digest(content, "sha256").hexdigest()
        content.seek(0)
        with file.open("wb") as raw, gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
            shutil.copyfileobj(content, packed, 1 << 20)
    tar.unlink()
    return Layer(title, file, diff_id, unpacked)


def _entry(archive: tarfile.TarFile, path: Path, name: str, epoch: int) -> tarfile.TarInfo:
    entry = archive.gettarinfo(path, name)
    if entry.islnk():  # a file that another name has, too: written again, so that no order counts
        entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = min(int(entry.mtime), epoch)
    # As packed by dpkg-deb, or by the umask of whoever runs this: neither may count, but that all may write in /tmp.
    shared = entry.isdir() and entry.mode & 0o1000
    entry.mode = 0o1777 if shared else 0o755 if entry.isdir() or entry.mode & 0o111 else 0o644
    return entry
