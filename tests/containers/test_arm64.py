"""The images for arm64, which no machine has built here: every package of their locks has a wheel for it."""

import json
import subprocess
import sys
from pathlib import Path

from images.recipe import PYTHON, RECIPES

from pages import ROOT

# https://peps.python.org/pep-0600/: up to the C library of Debian 13, which is 2.41.
PLATFORMS = [f"manylinux_2_{minor}_aarch64" for minor in range(17, 42)]


def test_both_locks_have_wheels_for_arm64_by_their_hashes(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
    wheels = ["--no-deps", "--ignore-installed", "--only-binary=:all:", "--require-hashes", f"--target={tmp_path}"]
    target = [f"--python-version={PYTHON.removeprefix('python')}", *(f"--platform={each}" for each in PLATFORMS)]
    locks = [f"--requirement={ROOT / 'requirements' / f'{each.lock}.lock'}" for each in RECIPES]
    done = subprocess.run(
        [*pip, *wheels, *target, *locks, f"--report={report}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    files = [each["download_info"]["url"].rpartition("/")[2] for each in json.loads(report.read_text())["install"]]
    assert {each.rpartition("_")[2] for each in files if "none-any" not in each} == {"aarch64.whl"}
