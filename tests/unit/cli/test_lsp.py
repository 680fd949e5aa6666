"""``podberth lsp`` before it speaks: what it needs."""

import sys
from pathlib import Path

import pytest

from podberth.cli.main import main


def test_without_its_library_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "podberth.lsp.protocol", raising=False)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["lsp"]) == 2
    assert "want podberth's extra lsp; do: pip install '.[lsp]'" in capsys.readouterr().err


def test_a_file_of_a_flag_that_cannot_be_used_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lsp", "--pod-schema", str(tmp_path / "none.json")]) == 2
    assert "--pod-schema: " in capsys.readouterr().err
