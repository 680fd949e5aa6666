"""The Go programs of the tests are cached, and without Go it is said what to install."""

from pathlib import Path

import pytest

from gotools.build import PROGRAMS, BuildError, missing, program


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_go_and_cache_it_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing(name)
    with pytest.raises(BuildError, match=r"got no go on PATH, want Go 1\.26\+"):
        program(name)


def test_a_program_that_is_cached_needs_no_go(
    kubelet_program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not missing("kubelet")
    assert program("kubelet") == kubelet_program
