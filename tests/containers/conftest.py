"""The images, built once for all tests of this folder, and unpacked; tests/conftest.py leaves out what cannot run."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from gotools.build import program

from .built import Image, build


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Image]:
    """Return both images by name, as `make images` builds them."""
    directory = tmp_path_factory.mktemp("images")
    built = build(directory / "dist")
    return {name: Image.unpacked(archive, directory / name) for name, archive in built.items()}


@pytest.fixture(scope="session")
def skopeo() -> Path:
    """Return skopeo, which reads, copies and pushes archives of images."""
    found = shutil.which("skopeo")
    assert found is not None
    return Path(found)


@pytest.fixture(scope="session")
def containerd() -> Path:
    """Return containerd, which imports archives of images."""
    found = shutil.which("containerd")
    assert found is not None
    return Path(found)


@pytest.fixture(scope="session")
def crane() -> Path:
    """Return crane, which joins images of several architectures in a registry."""
    return program("crane")


@pytest.fixture(scope="session")
def krew() -> Path:
    """Return krew, which installs plugins of kubectl."""
    return program("krew")


@pytest.fixture(scope="session")
def registry_program() -> Path:
    """Return the program that is a registry."""
    return program("registry")
