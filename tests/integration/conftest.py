"""The fixtures of these tests: podberth as a wheel, a shell that can install it without a network, and a browser."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import running

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    released = {**os.environ, "PODBERTH_REPOSITORY": "https://example.com/podberth"}
    subprocess.run(build, cwd=_ROOT, check=True, capture_output=True, env=released)
    [built] = target.glob("*.whl")
    return built


@pytest.fixture(scope="package")
def shell(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a shell that has python3 and git, and the packages that podberth needs, but not podberth.

    The packages are those of the test run, so pip finds every requirement met and downloads nothing.
    """
    folder = tmp_path_factory.mktemp("shell")
    for name in ("bin", "packages", "home"):
        (folder / name).mkdir()
    (folder / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    git = shutil.which("git")
    assert git, "got no git; install it"
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.suffix != ".pth" and not entry.name.startswith(("podberth", "pip")):
            (folder / "packages" / entry.name).symlink_to(entry)
    author = {
        f"GIT_{who}_{what}": "author@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return {
        "PATH": os.pathsep.join([str(folder / "bin"), str(Path(git).parent), "/usr/bin", "/bin"]),
        "PYTHONPATH": str(folder / "packages"),
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as: build with the packages that are here
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        **author,
    }


@pytest.fixture(scope="module")
def browser(chromium: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a browser for the tests of one file."""
    with running(chromium, tmp_path_factory.mktemp("browser")) as address:
        yield address
