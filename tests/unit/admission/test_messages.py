"""Lines for users: one line each, bounded, counted when left out."""

import pytest

from podberth.admission.messages import MAX_LINE, MAX_TOTAL, changes, line, of_mutations, within_budget
from podberth.admission.outcome import Decision


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


@pytest.mark.parametrize("size", [MAX_TOTAL // 8, MAX_TOTAL // 8 - 2, MAX_TOTAL // 8 - 8, MAX_TOTAL // 6, 20])
def test_lines_that_come_last_change_nothing_of_the_others(size: int) -> None:
    lines = [f"{number:0>{size}}" for number in range(8)]
    alone = within_budget(lines)
    together = within_budget(lines, [*lines, *(f"last {number:0>50}" for number in range(50))])
    assert together[: len(alone)] == alone
    assert sum(map(len, together)) <= MAX_TOTAL
    assert size > 20 or together[len(alone)].startswith("last")
    assert len(together) == len(alone) or "more not shown" in together[-1]


PATCH = [{"op": "add", "path": "/metadata/labels", "value": {}}]


def test_what_was_changed_is_one_line_behind_what_somebody_should_act_on() -> None:
    decisions = [
        Decision("a", "mutate", "tolerates nvidia.com/gpu"),
        Decision("b", "skip", "topology left as it is"),
        Decision("c", "mutate", "one rack for\nthe gang of 8"),
        Decision("d", "mutate", "tolerates nvidia.com/gpu"),
        Decision("e", "error", "cannot be asked"),
        Decision("f", "conflict", "conflict with policy a"),
    ]
    assert of_mutations(decisions, PATCH) == (
        "podberth e: cannot be asked",
        "podberth f: conflict with policy a",
        "podberth b: topology left as it is",
        "podberth: tolerates nvidia.com/gpu; one rack for the gang of 8",
    )
    assert of_mutations(decisions, [])[-1] == "podberth b: topology left as it is"


def test_changes_that_do_not_fit_the_line_are_counted() -> None:
    decisions = [Decision("a", "mutate", f"{number}" * 100) for number in range(4)]
    (said,) = of_mutations(decisions, PATCH)
    assert said == f"podberth: {'0' * 100}; {'1' * 100}; and 2 more"
    assert changes([Decision("a", "mutate", "x" * 300), *decisions]) == f"{'x' * 300}; and 4 more"
    assert changes([]) == ""
