"""docs/check-formats.md says what is there."""

import json
import re
from pathlib import Path

import jsonschema

from podberth.cli.formats import FORMATS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "check-formats.md").read_text(encoding="utf-8")


def test_the_page_has_a_row_for_each_format() -> None:
    table = PAGE.partition("\n## The JSON\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [each.name for each in FORMATS]


def test_the_report_of_the_page_is_valid_by_the_schema() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    schema = json.loads((DOCS / "schema" / "check-report-v1.json").read_text(encoding="utf-8"))

    assert list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(example))) == []
