import pytest

from podberth.kube.documents import load_documents
from podberth.kube.positions import Position, Positions, render_path

TEXT = """\
# a comment
---
plain: first second
items:
- one
- name: two
flow: {a: [1, 2]}
literal: |  # header
  let one
    two
folded: >-
  long text
  goes on

  here
several: begins here
  ends here
double: "say \\"hi\\"\\tto \\u0041 \\
  friend"
single: 'it''s
  so'
"""


def positions(text: str = TEXT) -> Positions:
    documents, problems = load_documents(text, "f.yaml")
    assert problems == []
    return documents[-1].positions


@pytest.mark.parametrize(
    ("path", "position"),
    [
        ((), (3, 1)),
        (("plain",), (3, 8)),
        (("items",), (5, 1)),
        (("items", 1), (6, 3)),
        (("items", 1, "name"), (6, 9)),
        (("flow", "a", 1), (7, 15)),
        (("items", 1, "missing"), (6, 3)),
        (("items", 7, "missing"), (4, 1)),
        (("flow", "a", "b", "c"), (7, 8)),
        (("missing", "more"), (3, 1)),
    ],
)
def test_a_value_has_its_place_and_a_missing_one_that_of_its_nearest_parents_key(
    path: tuple[str | int, ...], position: tuple[int, int]
) -> None:
    assert positions().at(path) == position


def test_a_key_has_its_own_place() -> None:
    assert positions().key(("flow", "a")) == (7, 8)
    assert positions().key(("items", 1)) == (6, 3)
    assert positions().key(("flow", "b")) == (7, 1)


@pytest.mark.parametrize(
    ("key", "line", "column", "seen"),
    [
        ("plain", 1, 1, "first second"),
        ("plain", 1, 7, "second"),
        ("literal", 1, 5, "one"),
        ("literal", 2, 3, "two"),
        ("folded", 1, 6, "text"),
        ("folded", 1, 11, "goes on"),
        ("folded", 2, 1, "here"),
        ("several", 1, 8, "here"),
        ("several", 1, 13, "ends here"),
        ("double", 1, 5, '\\"hi\\"\\tto \\u0041 \\'),
        ("double", 1, 6, 'hi\\"\\tto \\u0041 \\'),
        ("double", 1, 10, "to \\u0041 \\"),
        ("double", 1, 13, "\\u0041 \\"),
        ("double", 1, 15, 'friend"'),
        ("single", 1, 3, "''s"),
        ("single", 1, 4, "s"),
        ("single", 1, 6, "so'"),
    ],
)
def test_a_place_in_a_scalars_value_is_found_in_the_file(key: str, line: int, column: int, seen: str) -> None:
    found = positions().within((key,), line, column)
    assert TEXT.splitlines()[found.line - 1][found.column - 1 :] == seen


def test_a_blank_stands_right_behind_the_character_before_it() -> None:
    assert positions().within(("literal",), 1, 4) == (9, 6)
    assert positions().within(("plain",), 1, 99) == (3, 20)


def test_beyond_the_text_is_its_end_and_before_it_its_start() -> None:
    assert positions().within(("literal",), 99, 99) == (10, 8)
    assert positions().within(("plain",), 0, 0) == (3, 8)


def test_what_is_no_string_has_only_its_start() -> None:
    assert positions().within(("flow",), 1, 9) == (7, 7)
    assert positions().within(("missing",), 3, 9) == (3, 1)
    assert positions("a: 12\n").within(("a",), 1, 2) == (1, 4)


def test_an_aliased_value_stands_at_its_anchor() -> None:
    text = "a: &x {b: one}\nc: *x\nd: {<<: *x}\n"
    assert positions(text).at(("c", "b")) == positions(text).at(("d", "b")) == (1, 11)
    assert positions(text).key(("c",)) == (2, 1)


def test_json_has_places_too() -> None:
    assert positions('{\n  "a": [1,\n    "two"]}').within(("a", 1), 1, 2) == Position(3, 7)


def test_crlf_and_a_byte_order_mark_shift_nothing() -> None:
    changed = "\ufeff" + TEXT.replace("\n", "\r\n")
    for path in ((), ("items", 1, "name"), ("literal",)):
        assert positions(changed).at(path) == positions().at(path)
    assert positions(changed).within(("folded",), 2, 1) == positions().within(("folded",), 2, 1)


def test_a_path_is_written_as_people_write_it() -> None:
    assert render_path(("spec", "mutations", 0, "labels", "a.b/c")) == "spec.mutations[0].labels[a.b/c]"
    assert render_path(()) == ""


def test_a_step_that_is_longer_than_any_key_is_cut() -> None:
    assert render_path(("metadata", "x" * 317)) == f"metadata.{'x' * 317}"
    assert len(render_path(("metadata", "x" * 1_000_000))) < 400
