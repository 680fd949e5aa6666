"""The key of records: reloaded from its file, the last one still valid, and its problems reported."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podberth.errors import UsageError
from podberth.mutation.seal import Bearer, Sealer
from podberth.server.record_key import RecordKeys, WatchedRecordKey
from podberth.server.self_signed import ensure_record_key
from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Metrics

BEARER, TEXT = Bearer("a", "pod"), '{"p":{}}'
SECRETS = FIRST, SECOND, THIRD, FOURTH = [bytes([number]) * 16 for number in range(4)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with (tmp_path / "log").open("wb") as file:
        writer = LineWriter(file.fileno())
        yield Log(writer)
        writer.close()


def new_metrics() -> Metrics:
    return Metrics((), lines_dropped=lambda: 0, in_flight=lambda: 0)


def seals(secret: bytes) -> str:
    return Sealer.of(secret).seal(BEARER, TEXT)


def refresh(path: Path, keys: RecordKeys) -> Callable[[], None]:
    watched = WatchedRecordKey(path, keys)
    return lambda: asyncio.run(watched.refresh())


def test_the_newest_key_seals_and_those_before_it_are_believed(tmp_path: Path, log: Log) -> None:
    adopted: list[Sealer] = []
    path = tmp_path / "key"
    look = refresh(path, RecordKeys(adopted.append, new_metrics(), log))
    for secret in (FIRST, *SECRETS):
        path.write_bytes(secret)
        look()

    assert [each.seal(BEARER, TEXT) for each in adopted] == [seals(each) for each in SECRETS]
    last = adopted[-1]
    assert [last.believes(seals(each), BEARER, TEXT) for each in SECRETS] == [False, True, True, True]
    assert not any(each.offline for each in adopted)


def test_a_key_that_cannot_be_used_is_said_and_the_one_in_force_stays(tmp_path: Path, log: Log) -> None:
    adopted: list[Sealer] = []
    path = tmp_path / "key"
    look = refresh(path, RecordKeys(adopted.append, new_metrics(), log))
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        look()
    os.mkfifo(path)
    with pytest.raises(UsageError, match="cannot be read: got a named pipe, want a regular file"):
        look()
    path.unlink()
    path.write_bytes(b"short")
    with pytest.raises(UsageError, match="got 5 bytes, want 16 at least"):
        look()
    look()  # the same failure is reported once
    path.write_bytes(SECRETS[0])
    look()
    path.write_bytes(b"short")
    with pytest.raises(UsageError, match="got 5 bytes"):
        look()
    assert len(adopted) == 1


def test_each_key_counts_as_a_load(tmp_path: Path, log: Log) -> None:
    metrics, path = new_metrics(), tmp_path / "key"
    look = refresh(path, RecordKeys(lambda _: None, metrics, log))
    for secret in (*SECRETS, SECRETS[-1]):
        path.write_bytes(secret)
        look()
    assert f'podberth_reload_total{{result="ok",what="record key"}} {len(SECRETS)}.0' in metrics.exposition().decode()


def test_a_key_in_a_directory_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    directory = tmp_path / "certificates"
    path = ensure_record_key(directory)
    secret = path.read_bytes()

    assert (path, len(secret)) == (directory / "record.key", 32)
    assert path.stat().st_mode & 0o777 == 0o600
    assert ensure_record_key(directory).read_bytes() == secret
    assert ensure_record_key(tmp_path / "other").read_bytes() != secret
