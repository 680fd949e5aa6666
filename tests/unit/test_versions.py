"""`make test-versions` finds the Pythons of a machine: on PATH, and of pyenv, whose shims work for chosen ones only."""

from pathlib import Path

import pytest

from versions import python

SHIM = "#!/bin/sh\nexit 127\n"
WORKS = "#!/bin/sh\nexit 0\n"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a machine whose PATH is `bin`, and whose pyenv has no Python yet."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


def test_a_python_on_path_comes_first(machine: Path) -> None:
    found = script(machine / "bin" / "python3.13", WORKS)
    script(machine / "pyenv" / "versions" / "3.13.1" / "bin" / "python3.13", WORKS)
    assert python("3.13") == found


def test_where_a_shim_fails_the_newest_of_pyenv_is_taken(machine: Path) -> None:
    script(machine / "bin" / "python3.13", SHIM)
    for release in ("3.13.2", "3.13.10", "3.13.0rc1"):
        script(machine / "pyenv" / "versions" / release / "bin" / "python3.13", WORKS)
    script(machine / "pyenv" / "versions" / "3.12.11" / "bin" / "python3.12", WORKS)
    assert python("3.13") == machine / "pyenv/versions/3.13.10/bin/python3.13"


def test_pyenv_is_below_the_home_unless_it_says_where(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYENV_ROOT")
    monkeypatch.setenv("HOME", str(machine))
    found = script(machine / ".pyenv" / "versions" / "3.12.1" / "bin" / "python3.12", WORKS)
    assert python("3.12") == found


def test_none_that_works_is_none(machine: Path) -> None:
    script(machine / "bin" / "python3.14", SHIM)
    assert python("3.14") is None
    assert python("3.13") is None
