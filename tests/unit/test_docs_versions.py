"""docs/install-reference.md, "Versions": the releases and the tests on them are those of `make test-versions`."""

import tomllib

import pytest

from controlplane.build import RELEASE_VARIABLE, RELEASES, kubernetes_version
from pages import ROOT, page, rows
from versions import ON_RELEASES, PYTHONS, files

SECTION = page("docs/install-reference.md").partition("\n## Versions\n")[2].partition("\n## ")[0]
RELEASES_TABLE, _, PYTHONS_TABLE = SECTION.partition("\n| Python |")


def test_every_release_has_a_row_with_the_version_that_is_built() -> None:
    built = [kubernetes_version({RELEASE_VARIABLE: release}).removeprefix("v") for release in RELEASES]
    assert [name for name in rows(RELEASES_TABLE) if name[0].isdigit()] == built


@pytest.mark.parametrize("release", list(RELEASES)[1:])
def test_what_runs_on_another_release_is_what_make_test_versions_runs(release: str) -> None:
    version = kubernetes_version({RELEASE_VARIABLE: release}).removeprefix("v")
    assert rows(SECTION)[version][1] == ", ".join(ON_RELEASES)


def test_all_that_make_test_versions_runs_is_there() -> None:
    assert [name for name in files() if not (ROOT / name).exists()] == []


def test_the_pythons_are_those_of_the_package() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    assert [each for each in PYTHONS if f"Programming Language :: Python :: {each}" not in classifiers] == []
    assert [name.partition(" ")[0] for name in rows(PYTHONS_TABLE) if name[0].isdigit()] == list(PYTHONS)
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in SECTION
