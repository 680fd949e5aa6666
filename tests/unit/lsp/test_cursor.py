"""The key or value at a place, in documents that are half typed."""

import pytest

from editing import place
from podberth.kube.paths import Path
from podberth.lsp.answers.cursor import Cursor, cursor_at
from podberth.lsp.answers.text import Place, Text


def cursor(marked: str, good: str = "") -> Cursor | None:
    text, where = place(marked)
    return cursor_at(Text(text), where, Text(good) if good else None)


@pytest.mark.parametrize(
    ("marked", "path", "key", "typed"),
    [
        ("spec:\n  ^", ("spec",), "", ""),
        ("spec:\n  or^\n  other: 1", ("spec",), "or", "or"),
        ("spec:\n  or^der: 1", ("spec",), "order", "or"),
        ("spec:\n  items:\n  - na^\n  - name: b", ("spec", "items", 0), "na", "na"),
        ("spec: {a: 1, na^}", ("spec",), "na", "na"),
        ("spec: {a: 1, na^", ("spec",), "na", "na"),
        ("spec:\n  a: 1\n^", (), "", ""),
        ("a: 1\n---\nspec:\n  ^\n---\nb: [", ("spec",), "", ""),
    ],
)
def test_a_key(marked: str, path: Path, key: str, typed: str) -> None:
    found = cursor(marked)
    assert found is not None
    assert (found.path, found.key, found.typed) == (path, key, typed)


@pytest.mark.parametrize(
    ("marked", "path", "value", "typed"),
    [
        ("a: ^", ("a",), "", ""),
        ("a: x^y", ("a",), "xy", "x"),
        ("a: 1^0", ("a",), "10", "1"),
        ("a: [b, c^]", ("a", 1), "c", "c"),
        ("a: [b, c^", ("a", 1), "c", "c"),
        ('a: "x.^', ("a",), "x.", "x."),
        ("a: 'it''s ^so'", ("a",), "it's so", "it's "),
        ("a: !x.^", ("a",), "!x.", "!x."),
        ("a: >-\n  b\n  c^\nd: 1", ("a",), "b c", "b c"),
        ("a: |\n  b ? x^: y\n", ("a",), "b ? x: y\n", "b ? x"),
        ("a: b &&\n  c^\nd: 1", ("a",), "b && c", "b && c"),
        ('{"a": {"b": "x^y"}}', ("a", "b"), "xy", "x"),
    ],
)
def test_a_value(marked: str, path: Path, value: str, typed: str) -> None:
    found = cursor(marked)
    assert found is not None
    assert (found.path, found.key, found.value, found.typed) == (path, None, value, typed)


def test_broken_lines_below_do_not_matter() -> None:
    found = cursor("spec:\n  or^\n  - a: [\n :")
    assert found is not None
    assert (found.path, found.key) == (("spec",), "or")


def test_the_last_good_text_stands_in_for_broken_lines_above() -> None:
    good = "spec:\n  a: 1\n  b: 2\n"
    marked = "spec:\n  a: {]\n  b^: 2\n"
    assert cursor(marked) is None
    found = cursor(marked, good)
    assert found is not None
    assert (found.path, found.key) == (("spec",), "b")


@pytest.mark.parametrize("marked", ["# a^ comment\na: 1", "a: 1 # b^", "^\uf8e1"])
def test_nothing_is_in_comments(marked: str) -> None:
    assert cursor(marked) is None


def test_nothing_is_outside_the_text() -> None:
    assert cursor_at(Text("a: 1"), Place(9, 3)) is None


def test_lines_that_were_added_have_their_place_in_the_last_good_text() -> None:
    good = "spec:\n  a: 1\nlast: 2\n"
    found = cursor("spec:\n  a: {]\n  new: ^\nlast: 2\n", good)
    assert found is not None
    assert found.path == ("spec", "new")
    found = cursor("spec:\n  a: {]\nlast: ^2\n", good)
    assert found is not None
    assert found.path == ("last",)


def test_the_other_keys_beside_a_key() -> None:
    found = cursor("spec:\n  a: 1\n  ^\n  b: 2")
    assert found is not None
    assert found.beside == {"a", "b"}
