"""The search for boxes stops: what it has by then is exact, and says that there may be better."""

import random
from functools import partial

import pytest

from podberth.topology import boxes
from podberth.topology.boxes import Box, Row, fewest


def drawn(seed: int, count: int, keys: int, values: str) -> list[Row]:
    lots = random.Random(seed)  # noqa: S311 - the same in each run
    rows = {tuple(lots.choice(values) for _ in range(keys)) for _ in range(count)}
    return sorted(rows, key=lambda row: [str(value) for value in row])


def found(wanted: list[Row], others: list[Row], most: int = 100) -> tuple[Box, ...] | None:
    return fewest(wanted, others, lambda key, _allowed, _outside: key, most=most)


def is_exact(answer: tuple[Box, ...], wanted: list[Row], others: list[Row]) -> bool:
    def holds(box: boxes.Box, row: Row) -> bool:
        return all(row[key] in box.allowed(key) for key in box.keys)

    inside = all(any(holds(box, row) for box in answer) for row in wanted)
    return inside and not any(holds(box, row) for box in answer for row in others)


def split(rows: list[Row], seed: int) -> tuple[list[Row], list[Row]]:
    random.Random(seed).shuffle(rows)  # noqa: S311 - the same in each run
    return rows[: len(rows) // 3], rows[len(rows) // 3 :]


@pytest.mark.parametrize(
    ("count", "keys", "values"),
    [(150, 8, "ab"), (270, 6, "abc"), (900, 12, "abc")],
    ids=["placements run out", "more", "too many rows to search"],
)
def test_a_search_that_ends_early_is_exact(count: int, keys: int, values: str) -> None:
    wanted, others = split(drawn(1, count, keys, values), 2)
    answer = found(wanted, others)
    assert answer is not None
    assert is_exact(answer, wanted, others)


def test_more_boxes_than_asked_for_are_none() -> None:
    wanted, others = split(drawn(1, 150, 8, "ab"), 2)
    assert found(wanted, others, most=2) is None


def distance(best: int, key: int, _allowed: object, _outside: object) -> int:
    return abs(key - best)


def test_the_cost_decides_between_equally_few() -> None:
    wanted: list[Row] = [("a", "x", "1")]
    others: list[Row] = [("b", "y", "2")]
    for best in range(3):
        answer = fewest(wanted, others, partial(distance, best), most=8)
        assert answer is not None
        assert [box.keys for box in answer] == [(best,)]
