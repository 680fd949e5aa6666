"""The agent's loop, with a reader that follows a list."""

from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from pathlib import Path

import pytest

from nvml.scenario import write_sysfs
from podberth.agent.reader import located
from podberth.agent.sysfs import Sysfs
from podberth.agent.watch import DeviceWatch, documents
from podberth.errors import DeviceError
from podberth.topology.codec import decode_topology
from podberth.topology.derive import derive
from podberth.topology.observation import Observation, ObservedGpu

INTERVAL = 30.0


class Listed:
    """A reader that returns one observation after the other, and notes how long it was asked to wait."""

    def __init__(self, sights: Iterable[Observation | DeviceError]) -> None:
        self.sights = iter(sights)
        self.waits: list[float] = []

    def read(self) -> Observation:
        sight = next(self.sights)
        if isinstance(sight, DeviceError):
            raise sight
        return sight

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False

    def close(self) -> None: ...


def gpus(count: int) -> Observation:
    return Observation(gpus=tuple(ObservedGpu(index=index) for index in range(count)))


def away() -> DeviceError:
    return DeviceError("NVIDIA: away")


def watched(reader: Listed, tmp_path: Path, said: list[str]) -> Iterator[int]:
    """Count the GPUs of each document that is yielded."""
    sysfs = Sysfs(write_sysfs(tmp_path / "sys", []))
    watch = DeviceWatch(
        lambda: derive(located(reader.read(), sysfs)),
        reader.wait,
        interval_seconds=INTERVAL,
        now=lambda: "2026-01-31T12:00:00Z",
        say=said.append,
    )
    return (len(decode_topology(document).gpus) for document in documents(watch, "n"))


def test_equal_looks_are_one_document(tmp_path: Path) -> None:
    reader = Listed([gpus(2), gpus(2), gpus(2), gpus(1), gpus(2)])
    assert list(islice(watched(reader, tmp_path, []), 3)) == [2, 1, 2]
    assert set(reader.waits) == {INTERVAL}


def test_a_driver_that_is_gone_is_asked_less_and_less_often_and_reported_once(tmp_path: Path) -> None:
    said: list[str] = []
    reader = Listed([gpus(2), *(away() for _ in range(8)), gpus(2), gpus(1), away(), gpus(3)])
    assert list(islice(watched(reader, tmp_path, said), 3)) == [2, 1, 3]
    assert reader.waits == [INTERVAL, 1, 2, 4, 8, 16, 30, 30, 30, INTERVAL, INTERVAL, 1]
    assert said == ["NVIDIA: away"] * 2


def test_a_driver_may_be_away_for_ever(tmp_path: Path) -> None:
    reader = Listed([gpus(2), *repeat(away(), 5000), gpus(1)])
    assert list(islice(watched(reader, tmp_path, []), 2)) == [2, 1]


@pytest.mark.parametrize(
    "sights", [[away()], [gpus(2), DeviceError("another version", lasting=True)]], ids=["at the start", "lasting"]
)
def test_a_lasting_failure_ends_the_watch(tmp_path: Path, sights: list[Observation | DeviceError]) -> None:
    with pytest.raises(DeviceError):
        list(watched(Listed(sights), tmp_path, []))
