"""How the library is built, and what is said where it cannot be."""

import os
from pathlib import Path

import pytest

from .build import LIBRARY_NAME, BuildError, library


def test_it_is_built_once_outside_the_clone(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path)}
    folder = library(environ)
    made = (folder / LIBRARY_NAME).stat()
    assert folder.parent == tmp_path / "podberth"
    assert library(environ) == folder
    assert (folder / LIBRARY_NAME).stat() == made


def test_without_a_compiler_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="want cc; install one"):
        library({"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})


def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no such machine >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(BuildError, match="no such machine"):
        library({"PATH": os.environ["PATH"], "CC": str(broken), "XDG_CACHE_HOME": str(tmp_path)})
    assert [path.name for path in (tmp_path / "podberth").iterdir()] == []
