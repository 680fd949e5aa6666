"""Each finding of the comparisons with an API server has a proof that exists."""

import re
from pathlib import Path

import pytest

from conftest import SHARED
from differential.findings import FINDINGS, ROWS, SINCE
from differential.rows import ROWS as EVERY_ROW

_ROOT = Path(__file__).parents[2]
_NUMBER = re.compile(r"^(\d+)\. ", re.MULTILINE)


@pytest.mark.parametrize(
    ("number", "proof"), [(number, proof) for number, finding in FINDINGS.items() for proof in finding.proofs]
)
def test_a_proof_exists(number: str, proof: str) -> None:
    if proof == ROWS:
        assert number in {row.finding for row in EVERY_ROW}
    else:
        file, _, name = proof.partition("::")
        assert f"def {name}(" in (_ROOT / file).read_text(encoding="utf-8")


def test_each_row_is_of_a_finding_that_names_rows() -> None:
    assert {row.finding for row in EVERY_ROW} == {number for number, each in FINDINGS.items() if ROWS in each.proofs}


@pytest.mark.shared("findings/semantics.md")
def test_each_finding_of_the_list_has_its_proofs() -> None:
    text = (SHARED / "findings/semantics.md").read_text(encoding="utf-8")
    assert "## What lint does not say" in text
    assert {*_NUMBER.findall(text), "lint", SINCE} == set(FINDINGS)
