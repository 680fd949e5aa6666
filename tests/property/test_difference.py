"""A difference is one: without what is added it is the text before, without what is removed the text after."""

from hypothesis import given
from hypothesis import strategies as st

from podberth.check.report.difference import _compared

texts = st.lists(st.sampled_from(["a:", "- k: 1", "  e: x", "  e: w", "- k: 2", "b:"]), max_size=12)


@given(texts, texts)
def test_both_sides_are_in_the_difference(before: list[str], after: list[str]) -> None:
    lines = list(_compared(before, after))

    assert [line[2:] for line in lines if line[0] != "+"] == before
    assert [line[2:] for line in lines if line[0] != "-"] == after
