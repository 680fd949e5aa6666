"""The cache of wheels: what is in it counts only with a hash of the lock."""

import hashlib
from pathlib import Path

import pytest
from images.__main__ import exit_code
from images.interpreter import Interpreter
from images.wheels import ROOT, locked


def test_a_wheel_of_the_cache_without_a_hash_of_the_lock_ends_the_build_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = (ROOT / "requirements" / "agent.lock").read_bytes()
    folder = tmp_path / f"wheels-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir()
    (folder / "other-1.0-py3-none-any.whl").write_bytes(b"other")
    assert exit_code(lambda: locked("agent", Interpreter(tmp_path), tmp_path)) == 3
    file = ROOT / "requirements" / "agent.lock"
    said = f"wheels: got {folder / 'other-1.0-py3-none-any.whl'}, want a hash of {file}; do: remove {folder}\n"
    assert capsys.readouterr().err == said


def test_wheels_that_pip_cannot_download_end_the_build_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # It stands for the images' Python, and fails as pip would.
    loader = tmp_path / "usr" / "lib64" / "ld-linux-x86-64.so.2"
    loader.parent.mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "x86_64-linux-gnu").mkdir(parents=True)
    loader.write_text("#!/bin/sh\nexit 1\n")
    loader.chmod(0o755)
    assert exit_code(lambda: locked("agent", Interpreter(tmp_path), tmp_path)) == 3
    said = capsys.readouterr().err
    assert said.startswith("wheels: got status 1 of pip download")
    assert said.count("\n") == 1
