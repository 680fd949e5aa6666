"""`python -m images` in a folder that is no clone: one message instead of a traceback."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pages import ROOT


def test_sources_without_git_end_in_a_message(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "images", tmp_path / "images")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    environ = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "images", "--output", str(tmp_path / "dist")]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert done.stderr.startswith("images: git ")
    assert "want Debian, git, and a clone of the repository" in done.stderr
    assert "Traceback" not in done.stderr
