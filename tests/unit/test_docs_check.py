"""docs/check.md says what the code says: flags, verdicts, exit codes, the fields of the JSON."""

import argparse
from typing import Any

import pytest

from checking import one
from pages import ROOT, page, rows, spans
from podberth.check.model import VERDICTS, Report
from podberth.cli.check import configure
from podberth.cli.formats import FORMATS

PAGE = page("docs/check.md")
ROWS = rows(PAGE)


def flags() -> list[Any]:
    parser = argparse.ArgumentParser(add_help=False)
    configure(parser)
    return [each for each in parser._actions if each.option_strings]


@pytest.mark.parametrize("flag", flags(), ids=lambda flag: str(flag.dest))
def test_every_flag_has_a_row_with_its_default(flag: Any) -> None:
    name = f"{flag.option_strings[0]} {flag.metavar or 'WHAT'}"
    cells = ROWS[name]
    if isinstance(flag.default, str | int):
        assert cells[1] == f"`{flag.default}`"
    assert set(flag.choices or ()) <= spans(" ".join(cells))


def test_no_row_is_of_a_flag_that_is_not() -> None:
    documented = {name for name in ROWS if name.startswith("-") and not name.startswith("---")}
    assert documented == {f"{flag.option_strings[0]} {flag.metavar or 'WHAT'}" for flag in flags()}


def test_formats_verdicts_and_codes_are_named() -> None:
    assert {each.name for each in FORMATS} <= spans(ROWS["-o FORMAT[=FILE]"][2])
    assert ROWS["-o FORMAT[=FILE]"][1] == f"`{FORMATS[0].name}`"
    assert set(VERDICTS) | {"0", "1", "2"} <= ROWS.keys()


def test_every_field_of_the_json_is_named() -> None:
    result = one("apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}")
    document = Report(results=(result,), files=1, documents=1).as_json()
    section = spans(PAGE.partition("## The JSON")[2])
    assert document.keys() - {"results"} | {"results[]"} <= section
    assert {f"results[].{name}" for name in document["results"][0]} <= section
    assert {*document["results"][0]["changes"][0], "message", "field", "line"} <= section
    assert (ROOT / "docs" / "check-formats.md").exists()
