import os
import socket
import threading
from pathlib import Path

import pytest

from podberth.files import reading
from podberth.files.reading import PATIENCE_SECONDS, in_time, read_bytes, read_given, read_in_time, read_text
from podberth.kube.documents import load_documents

_MANIFESTS = Path(__file__).parents[3] / "manifests"
_MOST = 100


def _pipe(directory: Path) -> Path:
    os.mkfifo(directory / "file")
    return directory / "file"


def _socket(directory: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(directory / "file"))
    return directory / "file"


def _linked(directory: Path) -> Path:
    os.mkfifo(directory / "pipe")
    (directory / "file").symlink_to("pipe")
    return directory / "file"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (_pipe, "got a named pipe, want a regular file"),
        (_linked, "got a named pipe, want a regular file"),
        (_socket, "got a socket, want a regular file"),
        (lambda _: Path("/dev/zero"), "got a device, want a regular file"),
        (lambda directory: directory, "Is a directory"),
        (lambda directory: directory / "nowhere", "No such file"),
    ],
)
def test_only_a_regular_file_is_opened(tmp_path: Path, place: object, said: str) -> None:
    assert callable(place)
    with pytest.raises(OSError, match=said):
        read_bytes(place(tmp_path), _MOST)


def test_a_file_that_would_wait_for_content_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /proc/kmsg, which says that it is a regular file; here a pipe that a writer holds open."""
    pipe = _pipe(tmp_path)
    monkeypatch.setattr(reading, "_want_regular", lambda *_: None)
    held = os.open(pipe, os.O_RDWR)
    try:
        with pytest.raises(OSError, match="got a file whose content is yet to come, want a regular file"):
            read_bytes(pipe, 10)
    finally:
        os.close(held)


def test_a_file_is_read_up_to_its_bound_and_no_further(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a" * _MOST)
    assert read_bytes(file, _MOST) == b"a" * _MOST
    file.write_bytes(b"a" * (_MOST + 1))
    with pytest.raises(OSError, match="split the file"):
        read_bytes(file, _MOST)


def test_the_bound_holds_where_the_size_is_not_known_before() -> None:
    maps = Path("/proc/self/maps")
    assert maps.stat().st_size == 0
    with pytest.raises(OSError, match="split the file"):
        read_bytes(maps, _MOST)


def test_line_breaks_are_line_feeds(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb\rc\n")
    assert read_text(tmp_path / "file", _MOST) == "a\nb\nc\n"


def test_a_pipe_that_the_shell_hands_over_is_read() -> None:
    """As in `podberth check <(kustomize build)`."""
    reading, writing = os.pipe()
    os.write(writing, b"kind: Pod\n")
    os.close(writing)
    assert read_given(Path(f"/dev/fd/{reading}"), _MOST) == b"kind: Pod\n"
    os.close(reading)


class _Stalled:
    """A read that returns when it is released."""

    def __init__(self) -> None:
        self.begun = 0
        self.let_go = threading.Event()

    def __call__(self) -> str:
        self.begun += 1
        self.let_go.wait()
        return "read"


def test_a_read_that_does_not_return_is_left_behind_and_no_second_one_is_begun(tmp_path: Path) -> None:
    stalled = _Stalled()
    for _ in range(3):
        with pytest.raises(TimeoutError, match=r"got no answer from the file system for 0\.01 s"):
            in_time(tmp_path, stalled, 0.01)
    assert stalled.begun == 1
    assert in_time(tmp_path / "elsewhere", lambda: "another") == "another"
    stalled.let_go.set()
    left = [each for each in threading.enumerate() if each.name == "podberth-read"]
    assert all(each.daemon for each in left)
    for each in left:
        each.join()
    assert in_time(tmp_path, stalled) == "read"


def test_an_error_of_a_read_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_in_time(tmp_path / "nowhere", _MOST)


def test_patience_ends_before_any_grace_period() -> None:
    documents = [
        each.document
        for file in sorted(_MANIFESTS.glob("[bc]*/**/*.yaml"))
        if "chart" not in file.parts
        for each in load_documents(file.read_text(), str(file))[0]
    ]
    templates = [each["spec"]["template"]["spec"] for each in documents if each.get("kind") == "Deployment"]
    assert len(templates) == 2
    assert min(each["terminationGracePeriodSeconds"] for each in templates) > PATIENCE_SECONDS
