"""What a terminal is asked for, and what it is given: width, colour, encoding; seen through a real pseudo-terminal."""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

import pytest

from podberth.check.report.styled_lines import Line, Span
from podberth.cli.terminal import Terminal

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
from podberth.cli.terminal import Terminal
terminal = Terminal.of(sys.stdout)
terminal.heading("a title")
terminal.paragraph("w\u00f6rter " * 40, "red")
"""


def environ(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "webhook"), "TERM": "xterm-256color", **more}


def on_terminal(columns: int, env: Mapping[str, str]) -> str:
    """Run the program on a terminal of so many columns, and return what it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=theirs, env=env) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            written += part
    os.close(ours)
    assert process.returncode == 0
    return written.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_a_terminal_gets_its_width_and_colour(columns: int) -> None:
    shown = on_terminal(columns, environ())

    assert "\x1b[31mw\u00f6rter" in shown
    rule = shown.splitlines()[1].replace("\x1b[1;36m", "").replace("\x1b[36m", "").replace("\x1b[0m", "")
    assert len(rule) == columns


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_it_is_not_wanted(env: dict[str, str]) -> None:
    assert "\x1b" not in on_terminal(80, environ(**env))


@pytest.mark.parametrize("env", [{"FORCE_COLOR": "1"}, {"COLUMNS": "40"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_pipe_gets_plain_text_without_wrapping_in_its_encoding(env: dict[str, str]) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environ(**env), capture_output=True, check=True, timeout=180
    )
    ascii_only = "PYTHONIOENCODING" in env
    shown = completed.stdout.decode("ascii" if ascii_only else "utf-8")

    assert "\x1b" not in shown
    assert shown.splitlines()[1] == "-- a title ".ljust(100, "-") if ascii_only else "── a title ".ljust(100, "─")
    word = "w\\xf6rter" if ascii_only else "w\u00f6rter"
    assert shown.splitlines()[-1] == " ".join([word] * 40)


def written(width: int, *lines: Line) -> list[str]:
    stream = io.StringIO()
    Terminal(stream, colour=False, width=width).put(lines)
    return stream.getvalue().splitlines()


def test_a_line_hangs_and_its_long_words_are_folded() -> None:
    line = Line((Span("  why     "), Span("one two " + "x" * 45)), 12)

    assert written(40, line) == ["  why     one two", " " * 12 + "x" * 28, " " * 12 + "x" * 17]


def test_a_no_break_space_holds() -> None:
    assert written(40, Line((Span("x" * 30 + " 16\u00a0h100, 8\u00a0a100"),))) == ["x" * 30 + " 16 h100,", "8 a100"]


def test_nothing_is_wrapped_without_a_terminal() -> None:
    stream = io.StringIO()
    terminal = Terminal.of(stream)
    terminal.line("x " * 99 + "x")
    terminal.table([("a", "b"), ("1", "y " * 99 + "y")])

    assert [len(each) for each in stream.getvalue().splitlines()] == [199, 4, 202]


def test_wide_characters_take_two_columns() -> None:
    assert written(40, Line((Span("日本 " * 10),))) == [" ".join(["日本"] * 8), "日本 日本"]


def test_controls_and_commands_are_shown_and_not_obeyed() -> None:
    assert written(80, Line((Span("  ::error::a\x1b[1m\x07\n\u202e##[error]"),))) == [
        "  \\::error::a\\x1b[1m\\x07\\n\\u202e## [error]"
    ]


def test_a_table_is_aligned_and_wraps_in_its_columns() -> None:
    stream = io.StringIO()
    Terminal(stream, colour=False, width=40).table([("a", "bb"), ("1", "x " * 20), ("22", "\x1b")])

    assert stream.getvalue().splitlines() == [
        "a   bb",
        "1   x x x x x x x x x x x x x x x x x x",
        "    x x",
        "22  \\x1b",
    ]


def test_only_what_is_for_people_waits_for_rich() -> None:
    imported = {}
    for name in ("json", "text"):
        arguments = ["check", str(ROOT / "examples" / "cpu-pod.yaml"), "-o", name]
        program = f"import sys; from podberth.cli.main import main; main({arguments!r}); print('rich' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", program], env=environ(), capture_output=True, check=True, timeout=180
        )
        imported[name] = done.stdout.decode().splitlines()[-1]

    assert imported == {"json": "False", "text": "True"}
