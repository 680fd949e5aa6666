import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from podberth.kube.documents import PositionedDocument, load_documents
from podberth.kube.positions import Place

ROOT = Path(__file__).parents[2]
FILES = [
    file
    for folder in ("examples", "policies", "optional-policies", "manifests", "tests/manifests")
    for file in sorted((ROOT / folder).rglob("*.yaml"))
    if file.parent.name != "templates"  # of a chart: no YAML yet
]

# Pieces that mean something to a YAML reader, so that random sequences of them go deep.
_PIECES = [
    *"ab:-{}[]?,&*!|>'\"%@`#\n \t~<=\\ux019yn.+_\ufeff\x85\u2028\x01\ud800",
    "---",
    "\n- ",
    "\n  ",
    "a: ",
    "<<: ",
]
_PIECES += ["...", "*a", "&a ", "!!str ", "%YAML 1.1\n", "|\n "]
texts = st.lists(st.sampled_from(_PIECES), max_size=25).map("".join)
# YAML takes no implicit key of more than 1,024 characters, and json.dumps makes twelve of one
keys = st.text(max_size=80)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner),
)


def paths_of(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in parts for found in paths_of(part, (*path, key)))]


@given(texts)
def test_no_text_makes_the_reader_raise_and_every_value_has_a_place(text: str) -> None:
    documents, problems = load_documents(text, "f")
    for each in documents:
        json.dumps(each.document).encode()
        for path in paths_of(each.document):
            assert min(each.positions.at(path)) >= 1
            assert min(each.positions.within(path, 3, 3)) >= 1
    assert all(problem.line >= 1 and problem.column >= 1 for problem in problems)


@given(st.dictionaries(keys, values))
def test_json_is_read_as_json_with_or_without_a_yaml_reader(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    (quick,), _ = load_documents(text, "f")
    (slow,), _ = load_documents("---\n" + text, "f")
    assert quick.document == slow.document == value


def _scalar(text: str) -> PositionedDocument:
    (document,), problems = load_documents(text, "f")
    assert problems == []
    return document


solid = st.text(alphabet="abc(){}'.&|=!", min_size=1, max_size=8)
lines = st.lists(solid, min_size=1, max_size=6)


@given(lines, st.sampled_from([("|", "\n  "), (">", "\n  "), (">-", "\n\n  "), ("|2", "\n  ")]))
def test_every_solid_character_of_a_block_is_found_where_it_stands(words: list[str], style: tuple[str, str]) -> None:
    header, separator = style
    _check(f"key: {header}\n  {separator.join(words)}\n")


@given(st.text(alphabet="ab'\"\\ \té\u2603", min_size=1, max_size=20))
def test_every_solid_character_between_quotes_is_found_where_it_stands(text: str) -> None:
    _check("key: '" + text.replace("'", "''") + "'")
    _check("key: " + json.dumps(text))


def _check(text: str) -> None:
    """Compare, for each character of the value that is no blank, with the source at the place found for it."""
    document = _scalar(text)
    source = text.split("\n")
    for row, line in enumerate(document.document["key"].split("\n"), start=1):
        for column, character in enumerate(line, start=1):
            if not character.isspace():
                found = document.positions.within(("key",), row, column)
                seen = source[found.line - 1][found.column - 1]
                assert seen in (character, "\\")


def read(text: str) -> tuple[list[tuple[str, list[Any]]], list[str]]:
    """Return the values, all of their places and the problems of a text."""
    documents, problems = load_documents(text, "f")
    found = [(repr(each.document), outline(each.positions.root)) for each in documents]
    return found, [str(each) for each in problems]


def outline(place: Place) -> list[Any]:
    return [
        (place.position, place.index, place.end, place.style, place.value),
        *((key, part[0], part[2:], outline(part.place)) for key, part in place.parts.items()),
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_both_parsers_of_pyyaml_read_a_real_file_alike(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    by_libyaml = text.replace("\n---\n", "\n--- # +ud83d\n") + "# +ud83d\n"
    by_python = by_libyaml.replace("+ud83d", "\\ud83d")  # an escape that libyaml refuses
    assert read(by_libyaml) == read(by_python)
    assert yaml.__with_libyaml__
