"""The build and its cache, with a `go` of the test's own that builds nothing."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from . import build
from .build import BINARY_NAME, COMPONENTS, BuildError
from .wait import wait_for

# Says its version. A build notes itself, waits for the gate (a named pipe) if there is one, and fails with FAKE_ERROR.
FAKE_GO = """#!/bin/sh
if [ "$1" = version ]; then echo "go version $FAKE_VERSION linux/amd64"; exit 0; fi
echo build >> "$FAKE_LOG"
printf 'internal/abi\\nk8s.io/api\\n' >&2
[ -z "$FAKE_GATE" ] || read -r _ < "$FAKE_GATE"
if [ -n "$FAKE_ERROR" ]; then echo "$FAKE_ERROR" >&2; exit 1; fi
while [ "$1" != -o ]; do shift; done
echo made > "$2"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "go").write_text(FAKE_GO)
    (tools / "go").chmod(0o755)
    return {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "FAKE_VERSION": "go1.26.8",
        "FAKE_LOG": str(tmp_path / "builds"),
    }


def _has(lines: list[str], text: str) -> bool:
    return any(text in line for line in lines)


def builds(environ: dict[str, str]) -> int:
    log = Path(environ["FAKE_LOG"])
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_builds_once_and_keeps_it_with_a_name_for_each_component(environ: dict[str, str]) -> None:
    folder = build.assets(environ)
    assert build.binary(environ) == folder / BINARY_NAME
    assert builds(environ) == 1
    assert {path.name for path in folder.iterdir()} == {BINARY_NAME, *COMPONENTS}
    assert all((folder / name).read_text() == "made\n" for name in COMPONENTS)
    # Nothing half done is left, only the lock.
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, f"{folder.name}.lock"}


def test_two_that_ask_at_once_build_once_and_both_get_the_program(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_PROGRESS_SECONDS", 0.05)
    said: list[str] = []
    monkeypatch.setattr(build, "_say", said.append)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    environ["FAKE_GATE"] = str(gate)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(build.binary, environ) for _ in range(2)]
        for expected in ("another process is building", "2 of about 2,715 packages"):
            wait_for(partial(_has, said, expected), what=expected)
        gate.write_text("go on\n")
        assert asked[0].result() == asked[1].result()
    assert builds(environ) == 1


def test_a_build_that_fails_says_why_and_leaves_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    environ["FAKE_ERROR"] = "go: updates to go.mod needed"
    with pytest.raises(BuildError, match=r"failed with status 1:\n(.*\n)*go: updates to go.mod needed"):
        build.binary(environ)
    assert [path.suffix for path in (tmp_path / "cache" / "podberth").iterdir()] == [".lock"]
    del environ["FAKE_ERROR"]
    assert build.binary(environ).exists()


def test_an_old_go_is_named(environ: dict[str, str]) -> None:
    environ["FAKE_VERSION"] = "go1.25.3"
    with pytest.raises(BuildError, match=r"needs Go 1\.26\+; got 'go version go1\.25\.3 .*'; install"):
        build.binary(environ)


def test_no_go_is_named(environ: dict[str, str], tmp_path: Path) -> None:
    environ["PATH"] = str(tmp_path)
    with pytest.raises(BuildError, match=r"needs Go 1\.26\+; got none on PATH; install"):
        build.binary(environ)


def test_given_executables_are_used_and_nothing_is_built(environ: dict[str, str], tmp_path: Path) -> None:
    for name in COMPONENTS:
        (tmp_path / name).touch(mode=0o755)
    environ["KUBEBUILDER_ASSETS"] = str(tmp_path)
    assert build.assets(environ) == tmp_path
    assert builds(environ) == 0


def test_what_is_missing_of_the_given_ones_is_named(environ: dict[str, str], tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (tmp_path / name).touch(mode=0o755)
    environ["KUBEBUILDER_ASSETS"] = str(tmp_path)
    with pytest.raises(BuildError, match="no executable kube-controller-manager, kube-scheduler; want"):
        build.assets(environ)


@pytest.mark.parametrize(
    ("release", "version"), [("", "v1.36.3"), ("1.37", "v1.37.2"), ("1.33", "v1.33.13"), ("1.31", "v1.31.0")]
)
def test_the_version_is_that_of_the_releases_modules(release: str, version: str) -> None:
    environ = {build.RELEASE_VARIABLE: release}
    assert (build.kubernetes_version(environ), build.minor(environ)) == (version, int(version.split(".")[1]))


def test_each_release_has_a_folder_of_its_own(environ: dict[str, str]) -> None:
    folders = {build.binary({**environ, build.RELEASE_VARIABLE: release}).parent for release in build.RELEASES}
    assert len(folders) == builds(environ) == len(build.RELEASES)


def test_a_release_that_there_is_not_is_named(environ: dict[str, str]) -> None:
    environ[build.RELEASE_VARIABLE] = "1.29"
    with pytest.raises(BuildError, match=r"PODBERTH_TEST_KUBERNETES=1\.29: want one of 1\.36, 1\.37, 1\.33, 1\.31"):
        build.binary(environ)
