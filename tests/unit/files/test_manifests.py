"""The files that a check reads, and the decoding of bytes that are no plain UTF-8."""

import io
import os
from pathlib import Path

import pytest

from podberth.errors import Problem
from podberth.files.manifests import STDIN, find_manifests, read_manifest

TEXT = "kind: Pod\nmetadata: {name: é}\n"


def test_a_directory_gives_its_manifests_and_an_argument_counts_whatever_its_name(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "d.txt", ".hidden/e.yaml", "sub/f.yaml", "sub/.g.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    found = find_manifests([str(tmp_path), str(tmp_path / "d.txt"), str(tmp_path / "a.yaml"), STDIN])
    names = [Path(file).name for file in found.files]
    assert names == ["a.yaml", "b.yml", "c.json", "f.yaml", "d.txt", STDIN]
    assert (found.problems, found.empty) == ((), ())


def test_a_directory_without_manifests_is_named(tmp_path: Path) -> None:
    assert find_manifests([str(tmp_path)]).empty == (str(tmp_path),)


def test_an_empty_path_is_a_problem_and_not_the_working_directory() -> None:
    found = find_manifests([""])
    assert found.files == ()
    assert [str(each) for each in found.problems] == ["'': got an empty path, want a file or a directory"]


def test_links_in_a_circle_end_and_a_link_to_nowhere_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "lost.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.yaml")
    found = find_manifests([str(tmp_path)])
    assert [Path(file).name for file in found.files] == ["a.yaml", "lost.yaml"]
    lost = read_manifest(found.files[1])
    assert isinstance(lost, Problem)
    assert "cannot be read" in lost.message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_every_encoding_of_yaml_is_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(TEXT.encode(encoding))
    assert read_manifest(str(file)) == (str(file), TEXT)


@pytest.mark.parametrize(("content", "line"), [(b"a: b\n\xff\xff", 2), (b"\x7fELF\x02\x00\x01", 1), (b"a\nb\n\x00", 3)])
def test_a_file_that_is_no_text_is_reported_with_its_line(tmp_path: Path, content: bytes, line: int) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(content)
    problem = read_manifest(str(file))
    assert isinstance(problem, Problem)
    assert (problem.line, "this is no text" in problem.message) == (line, True)


def test_standard_input_is_a_file_like_others() -> None:
    assert read_manifest(STDIN, io.BytesIO(TEXT.encode())) == (STDIN, TEXT)


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_pipe_is_a_problem_and_an_empty_file_is_none(content: bytes, tmp_path: Path) -> None:
    problem = read_manifest(STDIN, io.BytesIO(content))
    assert isinstance(problem, Problem)
    assert problem.message == "standard input: got nothing, want manifests; did the command before it fail?"
    (tmp_path / "a.yaml").write_bytes(content)
    assert not isinstance(read_manifest(str(tmp_path / "a.yaml")), Problem)
