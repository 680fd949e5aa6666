import pytest

from podberth.workload.command_line import LONGEST, MOST_WORDS, commands, flag


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ([], []),
        (["vllm", "serve", "a b"], [["vllm", "serve", "a b"]]),  # no shell: words are as they stand
        (["--model=m", ";"], [["--model=m", ";"]]),
        (["sh", "-c", "a 'b c' \"d\" e\\ f"], [["a", "b c", "d", "e f"]]),
        (["/bin/bash", "-o", "pipefail", "-lc", "cd /x && a; b | c & d || e"], [["cd", "/x"], *map(list, "abcde")]),
        (["sh", "-c", "a \\\n  --b\nc"], [["a", "--b"], ["c"]]),
        (["sh", "-c", "# it's\na # b; c\nd#e"], [["a"], ["d#e"]]),
        (["sh", "-c", "a >b 2>>c <d e"], [["a", "2", "e"]]),
        (["sh", "-c", "a '<|x|>' \"y;z\""], [["a", "<|x|>", "y;z"]]),
        (["sh", "-c", "A=1 a --b $(c | d) `e; f` $((1 + 2))"], [["A=1", "a", "--b", "$", "$", "$"]]),
        (["sh", "-c", "a ${B} $C $(D)"], [["a", "${B}", "$C", "$"]]),
        (["sh", "-c", "exec bash -c 'a --b' &"], [["a", "--b"]]),
        (["bash", "-e", "-c", 'a "$@"', "--", "b"], [["a", "$@"]]),
        (["bash", "run.sh", "-c", "a; b"], [["bash", "run.sh", "-c", "a; b"]]),  # the file's own arguments
        (["sh", "-c"], []),
        (["sh", "-c", ""], []),
        (["a", "--shell", "bash"], [["a", "--shell", "bash"]]),
    ],
)
def test_a_line_is_the_commands_that_its_shells_run(line: list[str], found: list[list[str]]) -> None:
    assert commands(line) == found


@pytest.mark.parametrize(
    "script",
    [
        "a 'b",
        "a # it's",
        "cat <<EOF\na\nEOF",
        "a $(b $(c $(d)))",
        "a `b",
        "a ';' b",
        "a '#b' --c",
        "sh -c \"sh -c 'sh -c a'\"",
        "a " * (MOST_WORDS + 1),
        "a;" * (MOST_WORDS + 1),
        "a" * (LONGEST + 1),
    ],
)
def test_what_cannot_be_read_for_certain_is_not_read(script: str) -> None:
    assert commands(["sh", "-c", script]) == []


def test_a_line_of_more_words_than_people_write_is_not_read() -> None:
    assert commands(["a"] * MOST_WORDS) == [["a"] * MOST_WORDS]
    assert commands(["a"] * (MOST_WORDS + 1)) == []


@pytest.mark.parametrize(
    ("words", "names", "value"),
    [
        ("a --tp=4", ["--tp"], "4"),
        ("a --tp 4", ["--tp"], "4"),
        ("a --tp 4 --tensor-parallel-size=2 -x", ["--tensor-parallel-size", "--tp"], "2"),
        ("a --tp_size 4", ["--tp-size"], "4"),
        ("a --tp-size=4", ["--tp_size"], "4"),
        ("a -tp 4", ["-tp"], "4"),
        ("a -t_p 4", ["-t-p"], ""),
        ("a --seed -1", ["--seed"], "-1"),
        ("a --tp --x 4", ["--tp"], ""),
        ("a --tp", ["--tp"], ""),
        ("a --tp 4 --tp", ["--tp"], ""),
        ("a --tp= 4", ["--tp"], ""),
        ("a --tpx=4", ["--tp"], ""),
        ("a serve b", ["serve"], "b"),
        ("a", [], ""),
        ("", ["--tp"], ""),
    ],
)
def test_a_flag_has_the_value_that_stands_last(words: str, names: list[str], value: str) -> None:
    assert flag(words.split(), names) == value
