"""Block YAML read by lines is what the whole parser reads: values, places, and no text that the parser refuses."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podberth.kube.block_yaml import read_block
from podberth.kube.positions import Chunk
from podberth.kube.yaml_parser import compose

ROOT = Path(__file__).parents[2]
FILES = [
    file
    for folder in ("examples", "policies", "optional-policies", "manifests", "tests/manifests")
    for file in sorted((ROOT / folder).rglob("*.yaml"))
]


def assert_agrees(chunk: Chunk) -> bool:
    """Compare both readings; say whether the text was read by lines at all."""
    found = read_block(chunk)
    if found is None:
        return False
    [composed] = compose(chunk)
    assert composed.wrong == []
    assert repr(found[0]) == repr(composed.value)
    assert repr(found[1]) == repr(composed.place)
    return True


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_real_file_reads_alike(file: Path) -> None:
    for text in re.split(r"(?m)^(?=---(?:\s|$))", file.read_text(encoding="utf-8")):
        if any(line.strip() and not line.startswith("#") and line != "---" for line in text.split("\n")):
            assert_agrees(Chunk(text, 7))


def test_most_real_files_are_read_by_lines() -> None:
    found = [read_block(Chunk(file.read_text(encoding="utf-8").partition("\n---\n")[0], 0)) for file in FILES]
    assert sum(each is not None for each in found) > 0.9 * len(FILES)


PIECES = r"""
a: 1 | b: x y | - z | - | - a: b | - - c | key: | k/e.y: "q" | 's': t | y: 1 | on: 2
l: [a, 'b', "c"] | m: {a: 1, b: [x]}
e: [] | f: {} | t: >- | t: > | text of it |   more | # comment |   | n: ~ | n: null | z: -1 | z: --x | z: 0x1F | z: 1.5
u: http://a:80/b#c | u: a #b | u: a: b | u: *a | u: &a b | u: !!str 1 | u: 'it''s' | u: "a\nb" | u: "a\x41"
<<: x | ? q
u: @x | u: %x | u: a] | u: [a | u: {a} | u: [a,] | u: [-] | u: [a: b] | u: é | a:b | u: 'x' y | u: "x" # c
---
... | u: ,x | u: - | u: - x | u: ? x | u: x: | u : v | "q" : v | - # c | k: # c | u: [a b, c] | u: {a: }
u: 012 | u: 1e3
u: .5 | u: = | u: x  | u: [--a, b/c=d] | u: {a: {b: c}, "d": 'e'}
"""
LINES = [piece for line in PIECES.strip().split("\n") for piece in line.split(" | ")]
LINES += ["t: |", "u: |2", "t: |-", "\t", "u: x\t", "u: \u2028", "", "  "]


@settings(max_examples=15000, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(LINES)), min_size=1, max_size=7))
def test_lines_put_together_by_lot_read_alike(lines: list[tuple[int, str]]) -> None:
    text = "\n".join(" " * indent + piece for indent, piece in lines)
    assert_agrees(Chunk(text, 0))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_real_file_with_a_character_changed_reads_alike(data: Any) -> None:
    text = data.draw(st.sampled_from([file for file in FILES if file.stat().st_size < 2500])).read_text(
        encoding="utf-8"
    )
    text = text.partition("\n---\n")[0]
    place = data.draw(st.integers(0, len(text) - 1))
    with_it = data.draw(st.sampled_from([*" \n:-#'\"[]{},|>&*!%@`\t\\?x0"]))
    assert_agrees(Chunk(text[:place] + with_it + text[place + data.draw(st.integers(0, 1)) :], 0))
