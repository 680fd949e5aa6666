"""docs/check.md and its pages of reference say what the code says: flags, verdicts, exit codes, fields of the JSON."""

import argparse
from typing import Any

import pytest

from checking import one
from pages import page, rows, spans
from podberth.check.live_workloads import live_report
from podberth.check.owners import TopOwners
from podberth.check.result import VERDICTS
from podberth.cli.check import configure
from podberth.cli.formats import FORMATS
from podberth.policy.parse import parse_policies
from snapshots import policy

FORMATS_PAGE = page("docs/check-formats.md")
ROWS = rows(page("docs/commands.md").partition("\n## podberth test\n")[0] + page("docs/check.md"))
POLICY = policy("p", "\n  mutations:\n  - labels: {a: \"'b'\"}")


def flags() -> list[Any]:
    parser = argparse.ArgumentParser(add_help=False)
    configure(parser)
    return [each for each in parser._actions if each.option_strings]


def shown(flag: Any) -> str:
    return f"{flag.option_strings[0]} {flag.metavar or 'WHAT'}" if flag.nargs != 0 else str(flag.option_strings[0])


@pytest.mark.parametrize("flag", flags(), ids=lambda flag: str(flag.dest))
def test_every_flag_has_a_row_with_its_default(flag: Any) -> None:
    cells = ROWS[shown(flag)]
    if isinstance(flag.default, str | int) and flag.default != "" and flag.nargs != 0:
        assert cells[1] == f"`{flag.default}`"
    assert set(flag.choices or ()) <= spans(" ".join(cells))


def test_no_row_is_of_a_flag_that_is_not() -> None:
    documented = {name for name in ROWS if name.startswith("-") and not name.startswith("---")}
    assert documented == set(map(shown, flags()))


def test_formats_verdicts_and_codes_are_named() -> None:
    assert {each.name for each in FORMATS} <= spans(ROWS["-o FORMAT[=FILE]"][2])
    assert ROWS["-o FORMAT[=FILE]"][1] == f"`{FORMATS[0].name}`"
    assert set(VERDICTS) | {"0", "1", "2", "3"} <= ROWS.keys()


def test_every_field_of_the_json_is_named() -> None:
    result = one("apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}")
    document = live_report([(result,)], TopOwners((), 0, 0, 0), parse_policies([("p", POLICY)]).policies).as_json()
    section = spans(FORMATS_PAGE.partition("## The JSON")[2])
    assert document.keys() - {"results"} | {"results[]", "live.policies[]"} <= section
    assert {*document["live"], *document["live"]["policies"][0]} - {"policies"} <= section
    assert {f"results[].{name}" for name in document["results"][0]} <= section
    assert {*document["results"][0]["changes"][0], "message", "field", "line"} <= section
