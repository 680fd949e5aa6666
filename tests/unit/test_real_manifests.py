"""Tests that cite tests/real-manifests.md cite facts that stand there."""

import re

from pages import ROOT, page

FACTS = {int(number) for number in re.findall(r"^(\d+)\. ", page("tests/real-manifests.md"), re.MULTILINE)}
CITED = re.compile(r"tests/real-manifests\.md ((?:\d+, )*\d+(?: and \d+)?)")


def test_every_fact_that_a_test_cites_is_there() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py")]
    cited = {int(number) for text in texts for found in CITED.findall(text) for number in re.findall(r"\d+", found)}
    assert len(cited) > 10
    assert cited <= FACTS
