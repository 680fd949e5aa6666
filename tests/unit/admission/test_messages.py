"""Lines for users: one line each, bounded, counted when left out."""

from podberth.admission.messages import MAX_LINE, MAX_TOTAL, line, within_budget


def test_a_line_is_one_line_and_never_too_long() -> None:
    assert line("p", "a\n b") == "podberth p: a b"
    assert len(line("p", "x" * 999)) == MAX_LINE


def test_what_does_not_fit_is_counted() -> None:
    lines = [f"{number:0>200}" for number in range(30)]
    kept = within_budget(lines)

    assert sum(map(len, kept)) <= MAX_TOTAL
    assert kept[0] == lines[0]
    assert kept[-1] == f"podberth: {30 - len(kept) + 1} more not shown"


def test_the_same_line_is_said_once() -> None:
    assert within_budget(["a", "b", "a"]) == ("a", "b")
