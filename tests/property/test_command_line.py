"""Command lines and models' names that anybody may write: read as a shell quotes them, or not at all."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from podberth.workload.command_line import commands, flag
from podberth.workload.models import named

TEXT = st.text(alphabet=st.sampled_from(list("ab70B-=_./$ '\"\\;&|<>#\n`(){}x\u00e9")), max_size=12)
# What no operator, comment or substitution can be mistaken for.
PLAIN = st.text(alphabet=st.sampled_from(list("ab70B-=_./ ,:'\"\u00e9")), max_size=12)


@given(st.lists(PLAIN, min_size=1, max_size=8))
def test_what_is_quoted_comes_back(words: list[str]) -> None:
    assert commands(["sh", "-c", shlex.join(words)]) == [words]


@given(
    st.lists(st.lists(PLAIN, min_size=1, max_size=4), min_size=1, max_size=4), st.sampled_from([";", "&&", "|", "\n"])
)
def test_commands_are_separated(lines: list[list[str]], operator: str) -> None:
    assert commands(["sh", "-c", f" {operator} ".join(map(shlex.join, lines))]) == lines


@given(st.lists(TEXT, max_size=8))
def test_any_line_is_read_or_it_is_not(line: list[str]) -> None:
    for words in commands([*line, "sh", "-c", "".join(line)]):
        assert words
        assert isinstance(flag(words, line), str)


@given(st.lists(PLAIN.filter(lambda word: not word.startswith("-")), max_size=4), st.integers(1, 9))
def test_a_flag_is_found_in_either_form(words: list[str], value: int) -> None:
    for spelled in (["--tensor-parallel-size", str(value)], [f"--tensor_parallel_size={value}"]):
        assert flag([*words, *spelled, *words], ["--tensor-parallel-size"]) == str(value)


@given(TEXT, st.integers(1, 1500))
def test_a_size_is_never_more_than_the_name_says(prefix: str, billions: int) -> None:
    assert 0 <= named(f"{prefix}/llama-{billions}B").millions <= billions * 1000
