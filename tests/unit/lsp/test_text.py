"""Places of a text: characters, the units of editors, and the text that a problem is about."""

import pytest

from podberth.errors import Problem
from podberth.lsp.answers.text import Place, Range, Text


def utf_16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def test_columns_of_editors_count_utf_16() -> None:
    text = Text("a\nüx😀y: 1")
    assert text.of_editor(1, 4, utf_16) == Place(1, 3)
    assert text.to_editor(Place(1, 3), utf_16) == (1, 4)


def test_a_position_behind_its_line_is_the_end_of_the_line() -> None:
    assert Text("ab\nc").of_editor(0, 9, utf_16) == Place(0, 2)
    assert Text("ab\nc").of_editor(7, 3, utf_16) == Place(7, 0)


def test_only_the_line_ends_of_the_protocol_end_lines() -> None:
    assert Text("a\u2028b\x0cc\r\nd\re").lines == ["a\u2028b\x0cc", "d", "e"]


@pytest.mark.parametrize(
    ("line", "column", "about"),
    [
        ("kind: 'a b' # c", 7, "'a b'"),
        ('kind: "a \\" b" # c', 7, '"a \\" b"'),
        ("when: gpu.count > 1", 7, "gpu.count"),
        ("when: (a)", 7, "("),
        ("when:", 6, ""),
    ],
)
def test_a_problem_is_about_a_word_or_a_quoted_text(line: str, column: int, about: str) -> None:
    found = Text(line).about(Problem("f", 1, column, "", "m"))
    assert line[found.start.column : found.end.column] == about


def test_a_problem_of_the_whole_document_is_about_the_first_line() -> None:
    assert Text("ab\nc").about(Problem("f", 0, 0, "", "m")) == Range(Place(0, 0), Place(0, 2))
    assert Text("ab\nc").about(Problem("f", 9, 9, "", "m")).start == Place(1, 1)


def test_the_word_at_a_place() -> None:
    assert Text("gpu.count").word(Place(0, 4)) == Range(Place(0, 4), Place(0, 9))
    assert Text("a  b").word(Place(0, 2)) == Range(Place(0, 2), Place(0, 2))
