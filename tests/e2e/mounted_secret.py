"""A Secret mounted as the kubelet mounts it: a folder of links, exchanged by renaming one.

https://pkg.go.dev/k8s.io/kubernetes/pkg/volume/util#AtomicWriter: files lie in `..<time>`, `..data` leads there, and
each name leads to `..data/<name>`.
"""

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path


class MountedSecret:
    """One of them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._numbers = itertools.count()

    def write(self, data: Mapping[str, bytes]) -> None:
        """Exchange all of it in one step."""
        link = self.folder / "..data"
        before = link.resolve() if link.is_symlink() else None
        fresh = self.folder / f"..2026_01_01_00_00_00.{next(self._numbers)}"
        fresh.mkdir()
        for name, content in data.items():
            (fresh / name).write_bytes(content)
        temporary = self.folder / "..data_tmp"
        temporary.symlink_to(fresh.name)
        temporary.rename(link)
        for name in data:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        if before:
            shutil.rmtree(before)
