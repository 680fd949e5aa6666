"""docs/policies/ is what its generator writes."""

import pytest

from pages import ROOT
from tools_run import check


def test_the_pages_are_what_the_policies_say_today(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (check("policy_pages", monkeypatch), capsys.readouterr().out) == (0, "")


def test_every_policy_has_a_page_and_every_page_a_policy() -> None:
    folders = {path.name for name in ("policies", "optional-policies") for path in (ROOT / name).iterdir()}
    assert {path.stem for path in (ROOT / "docs" / "policies").glob("*.md")} - {"README"} == folders
