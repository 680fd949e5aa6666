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


def test_the_page_of_each_optional_policy_and_no_other_says_how_to_turn_it_on() -> None:
    pages = (ROOT / "docs" / "policies").glob("*.md")
    said = {each.stem for each in pages if f"`podberth policies show {each.stem} | kubectl" in each.read_text("utf-8")}
    assert said == {path.name for path in (ROOT / "optional-policies").iterdir()}
