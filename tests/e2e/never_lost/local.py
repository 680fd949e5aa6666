"""Two replicas on this machine behind a balancer: the shipped configurations with a URL in the place of the Service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..podberth_process import empty
from ..replicas import Replicas
from .disk import Disk
from .stage import FLAGS, Ground, Stage, ground


class Local(Stage):
    """`disks` are where the replicas log to."""

    group: Replicas

    def __init__(self, on: Ground, group: Replicas, disks: list[Disk]) -> None:
        super().__init__(on, group)
        self.disks = disks


@contextmanager
def local(directory: Path) -> Iterator[Local]:
    """Yield two replicas that serve."""
    with ground(directory) as on:
        disks = [Disk(directory / f"disk-{number}") for number in range(2)]
        prefixes = [disk.prefix for disk in disks]
        flags = (*FLAGS, "--policies", str(empty(directory)))
        group = Replicas(on.control_plane, directory / "replicas", flags, prefixes=prefixes)
        try:
            stage = Local(on, group, disks)
            stage.prepare("Fail")
            yield stage
        finally:
            group.close()
