"""The bundled editor of the playground is what its sources make."""

from pathlib import Path

import pytest
from playground_editor import OUTPUTS, STATIC, SUMS, bundle, sums


def test_the_bundle_is_of_these_sources() -> None:
    assert SUMS.read_text(encoding="utf-8") == sums(STATIC), "do: make playground-editor"


def test_the_licences_of_all_packages_are_beside_it() -> None:
    licences = (STATIC / "editor.LICENSES.txt").read_text(encoding="utf-8")
    assert licences.count("Copyright") >= licences.count("-" * 80) + 1
    assert "@codemirror/view " in licences


@pytest.mark.usefixtures("npm")
def test_another_build_makes_the_same_bytes(tmp_path: Path) -> None:
    bundle(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in OUTPUTS} == {
        name: (STATIC / name).read_bytes() for name in OUTPUTS
    }
