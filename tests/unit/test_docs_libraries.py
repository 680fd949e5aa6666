"""docs/cel.md has every function of the engine and of the libraries, no other, and examples as Kubernetes has them."""

import json
import re

import pytest

from library_vectors import DIFFERENCES, VECTORS
from pages import page, rows, spans
from podberth.cel.engine import CompileError, Environment, Want
from podberth.cel.engine_errors import NOT_HAD
from podberth.cel.libraries import LIBRARIES
from podberth.cel.libraries.native import MACROS, NATIVE
from podberth.cel.operands import INSTEAD
from podberth.kube.schema import PodSchema

_PAGE = page("docs/cel.md")
_TABLES, _, _REST = _PAGE.partition("\n## What is not there\n")
_REFUSED, _, _DIFFERENT = _REST.partition("\n## Different from upstream\n")
_COLUMNS = 5
_LINES = [
    [cell.replace("\\|", "|").strip() for cell in line.strip("|").split(" | ")]
    for line in _TABLES.splitlines()
    if line.startswith("| `")
]
_VALUES = {vector.expression: vector.value for vector in VECTORS}


def test_every_row_is_whole() -> None:
    assert len(_LINES) > 150
    for line in _LINES:
        assert len(line) == _COLUMNS
        assert all(cell.strip("`") for cell in line)


@pytest.mark.parametrize(("example", "value"), [(line[3].strip("`"), line[4].strip("`")) for line in _LINES])
def test_each_example_has_its_value_on_a_real_apiserver(example: str, value: str) -> None:
    # tests/e2e/test_cel_libraries.py puts it there.
    shown = json.loads(value)
    assert (shown if isinstance(shown, str) else value) == _VALUES[example]


def called(written: str) -> str:
    """Return the function or operator of a call as the page writes it, without its operands' types."""
    while "(" in written:
        written = re.sub(r"\([^()]*\)", "", written)
    return written.rpartition(".")[2] if re.fullmatch(r"[\w.]+", written) else re.sub(r"\w{2,}|[A-Z ]", "", written)


def test_every_function_is_in_a_table_and_no_other() -> None:
    written = {called(span) for line in _LINES for span in spans(line[0])}
    functions = {row.name for row in (*NATIVE, *LIBRARIES)} | {macro.name for macro in MACROS}
    as_written = {"@in": "", "_?._": ".?"}  # the one is a word, and the other is written the other way round
    known = {
        as_written.get(name, name if name.isidentifier() and name[0] != "_" else name.replace("_", ""))
        for name in functions
    }
    assert written == {name.rpartition(".")[2] if name[-1:].isalpha() else name for name in known}


def test_each_library_is_named_where_expressions_are_explained() -> None:
    named = spans(page("docs/expressions.md"))
    assert {row.name for row in LIBRARIES} | {macro.name for macro in MACROS} <= named


@pytest.mark.parametrize("expression", rows(_REFUSED).keys() - {"expression", "---"})
def test_what_is_not_there_is_refused_in_these_words(expression: str) -> None:
    with pytest.raises(CompileError) as caught:
        Environment(PodSchema.packaged()).compile(expression, want=Want.ANY)
    assert rows(_REFUSED)[expression][1] == f"`{caught.value.problems[0].message}`"


@pytest.mark.parametrize("hint", [*NOT_HAD.values(), *INSTEAD.values()])
def test_each_thing_to_write_instead_is_on_the_page(hint: str) -> None:
    assert hint in _REFUSED


def test_the_differences_are_those_that_are_known() -> None:
    def shown(value: str | None) -> str:
        return "error" if value is None else f"`{value}`"

    listed = {name: tuple(cells[1:3]) for name, cells in rows(_DIFFERENT).items() if name not in ("expression", "---")}
    assert listed == {each.expression: (shown(each.ours), shown(each.theirs)) for each in DIFFERENCES}
