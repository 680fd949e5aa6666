"""The account of what a machine could not run: one line at the end, and with CI=true no way around it."""

import os
import subprocess
import sys
from pathlib import Path

from .podberth_process import ROOT

_SKIPS_ITSELF = 'import pytest\ndef test_moody() -> None:\n    pytest.skip("not today")\n'
_WANTS_DATA = 'import pytest\n@pytest.mark.shared("no/such.yaml")\ndef test_data() -> None: ...\n'
_NEEDS_CLUSTER = "def test_cluster(control_plane: object) -> None: ...\n"
_HAS_HOSTS = "import pytest\n@pytest.mark.hosts\ndef test_hosts() -> None: ...\n"
_PASSES = "def test_well() -> None: ...\n"


def run(folder: Path, *tests: str, **environ: str) -> tuple[int, str]:
    """Run the tests on a machine without Go and without anything built; return status and last line."""
    for number, text in enumerate((*tests, _PASSES)):
        (folder / f"test_{number}.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    bare = {key: value for key, value in os.environ.items() if key not in {"CI", "KUBEBUILDER_ASSETS"}}
    path = os.pathsep.join((str(ROOT / "tests"), str(ROOT / "webhook")))
    environ = {**bare, "PATH": str(folder), "XDG_CACHE_HOME": str(folder), "PYTHONPATH": path, **environ}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, env=environ, cwd=folder, text=True, capture_output=True, check=False)
    return done.returncode, done.stdout.splitlines()[-1]


def test_nothing_is_said_about_a_run_that_left_nothing_out(tmp_path: Path) -> None:
    assert run(tmp_path, CI="true")[0] == 0
    assert "left out" not in run(tmp_path)[1]


def test_without_go_what_needs_the_control_plane_is_left_out_and_named(tmp_path: Path) -> None:
    status, line = run(tmp_path, _NEEDS_CLUSTER)
    assert (status, line) == (0, "left out: 1 need Go 1.26+ (https://go.dev/dl/), or KUBEBUILDER_ASSETS")


def test_in_ci_that_is_a_failure(tmp_path: Path) -> None:
    status, line = run(tmp_path, _NEEDS_CLUSTER, CI="true")
    assert status == 1
    assert line.startswith("left out: 1 need Go 1.26+")
    assert line.endswith("failed")


def test_where_nobody_may_make_hosts_that_is_said_and_fails_in_ci(tmp_path: Path) -> None:
    status, line = run(tmp_path, _HAS_HOSTS)
    assert status == 0
    assert line.startswith("left out: 1 need network namespaces, as root may make them (unshare, ip): ")
    status, line = run(tmp_path, _HAS_HOSTS, CI="true")
    assert status == 1
    assert line.endswith("failed")


def test_data_of_shared_that_is_not_there_may_be_missing_in_ci_too(tmp_path: Path) -> None:
    status, line = run(tmp_path, _WANTS_DATA, CI="true")
    assert (status, line) == (0, "left out: 1 need data in ../shared (no/such.yaml)")


def test_a_test_that_skips_itself_is_named_and_fails_in_ci(tmp_path: Path) -> None:
    assert run(tmp_path, _SKIPS_ITSELF) == (0, "left out: test_0.py::test_moody says: not today")
    status, line = run(tmp_path, _SKIPS_ITSELF, _WANTS_DATA, CI="true")
    assert status == 1
    assert "1 need data in ../shared (no/such.yaml)" in line
    assert "test_moody says: not today; with CI=true" in line
