"""The fewest boxes that hold every wanted row and none of the others: label expressions as set arithmetic.

A row is a node kind's values of some label keys, in one order, None where it lacks the label. A box allows a set of
values for each key, and one expression can state any such set, so a term is a box and ORed terms are boxes together.
This is the minimisation of multiple-valued logic (Rudell and Sangiovanni-Vincentelli, IEEE Trans. CAD 6(5), 1987), and
NP-hard: it contains set cover.

The problem is small here: a box over wanted rows need allow no more values than those rows have, and a part of a box's
rows makes a smaller box. So the boxes are a partition of the wanted rows. Among the partitions into boxes without
others, the search takes the first that is minimal in (boxes, expressions, cost). A box needs an expression only for
keys that keep others out: its cheapest hitting set.

The bound: ``PLACEMENTS`` of a row in a box and ``CHOICES`` of sets of keys, each linear in the number of keys (others
are bits of one integer). When they are used up, the best result so far is returned, and ``Boxes.smallest`` is False:
the boxes are exact, but fewer may be possible. More than ``MOST_ROWS`` wanted rows are not searched, only joined
greedily.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from operator import and_, or_
from typing import TypeAlias

Row: TypeAlias = tuple[str | None, ...]
Cost: TypeAlias = Callable[[int, frozenset[str | None], frozenset[str | None]], float]
"""The cost of an expression: key's position, values allowed, others' values to keep out."""

# A placement takes about 8 µs with forty keys and 450 others, and a choice 1.5 µs, so all of them take about 40 ms;
# cover searches twice. Answers are remembered (bench/expressions.py measures it).
PLACEMENTS = 3_000
CHOICES = 10_000
# The search is as deep as there are rows, and clusters have fewer than a hundred kinds of nodes that fit one pod.
MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Box:
    """One term: some wanted rows, and the keys that keep others out, best first."""

    rows: tuple[Row, ...]
    keys: tuple[int, ...]
    cost: float

    def allowed(self, key: int) -> frozenset[str | None]:
        """Return the values of a key that the box's rows have."""
        return frozenset(row[key] for row in self.rows)


@dataclass(frozen=True, slots=True)
class Boxes:
    """The result of the search."""

    boxes: tuple[Box, ...]
    smallest: bool
    """Whether it is proved that no fewer boxes and expressions are possible, and none are cheaper."""


def fewest(wanted: Iterable[Row], others: Iterable[Row], cost: Cost, *, most: int) -> Boxes | None:
    """Find at most ``most`` boxes; no row may be both wanted and another. None where the search finds no solution.

    The answer does not depend on the order of the rows. ``wanted`` and ``others`` must not be empty.
    """
    search = _Search(sorted(set(wanted), key=_order), sorted(set(others), key=_order), cost)
    return search.run(most)


def _order(row: Row) -> tuple[tuple[bool, str], ...]:
    return tuple((value is not None, value or "") for value in row)


@dataclass(slots=True)
class _Search:
    """One search. ``inside`` tuples have an integer for each key: the others with a value that the box allows."""

    wanted: list[Row]
    others: list[Row]
    cost: Cost
    placements: int = field(default_factory=lambda: PLACEMENTS)
    """How many are left; below 0 once they were used up."""
    choices: int = field(default_factory=lambda: CHOICES)
    outside: list[frozenset[str | None]] = field(default_factory=list)
    inside: dict[Row, tuple[int, ...]] = field(default_factory=dict)
    made: dict[tuple[Row, ...], Box] = field(default_factory=dict)
    best: tuple[tuple[int, float], list[Box]] | None = None

    def run(self, most: int) -> Boxes | None:
        keys = range(len(self.others[0]))
        masks: list[dict[str | None, int]] = [{} for _ in keys]
        for place, row in enumerate(self.others):
            for key in keys:
                masks[key][row[key]] = masks[key].get(row[key], 0) | 1 << place
        self.outside = [frozenset(mask) for mask in masks]
        self.inside = {row: tuple(masks[key].get(row[key], 0) for key in keys) for row in self.wanted}
        whole = reduce(_merged, self.inside.values())
        if not reduce(and_, whole):
            return self._answer([self._box(tuple(self.wanted))])
        greedy = self._greedy(most)
        if len(self.wanted) <= MOST_ROWS:
            for count in range(2, min(most, len(self.wanted)) + 1):
                self._place(0, [], [], count)
                if self.best is not None:
                    return self._answer(self.best[1])
                if self.placements < 0:
                    break
        else:
            self.placements = -1
        return None if greedy is None else self._answer([self._box(rows) for rows in greedy])

    def _answer(self, boxes: list[Box]) -> Boxes:
        boxes.sort(key=lambda box: (len(box.keys), box.cost, [_order(row) for row in box.rows]))
        return Boxes(tuple(boxes), smallest=self.placements >= 0 and self.choices >= 0)

    def _greedy(self, most: int) -> list[tuple[Row, ...]] | None:
        """Put each row into the first box that it leaves without others."""
        members: list[list[Row]] = []
        inside: list[tuple[int, ...]] = []
        for row in self.wanted:
            for place, present in enumerate(inside):
                merged = _merged(present, self.inside[row])
                if not reduce(and_, merged):
                    members[place].append(row)
                    inside[place] = merged
                    break
            else:
                if len(members) == most:
                    return None
                members.append([row])
                inside.append(self.inside[row])
        return [tuple(rows) for rows in members]

    def _place(self, number: int, members: list[tuple[Row, ...]], inside: list[tuple[int, ...]], count: int) -> None:
        """Try the row of that number in every box, and in a new one while there are fewer than ``count``."""
        if number == len(self.wanted):
            self._take(members)
            return
        row = self.wanted[number]
        for place in range(min(len(members) + 1, count)):
            self.placements -= 1
            if self.placements < 0:
                return
            new = place == len(members)
            merged = self.inside[row] if new else _merged(inside[place], self.inside[row])
            if reduce(and_, merged):
                continue
            rows = (row,) if new else (*members[place], row)
            self._place(
                number + 1,
                [*members[:place], rows, *members[place + 1 :]],
                [*inside[:place], merged, *inside[place + 1 :]],
                count,
            )

    def _take(self, members: list[tuple[Row, ...]]) -> None:
        boxes = [self._box(rows) for rows in members]
        cost = (sum(len(box.keys) for box in boxes), sum(box.cost for box in boxes))
        if self.best is None or cost < self.best[0]:
            self.best = (cost, boxes)

    def _box(self, rows: tuple[Row, ...]) -> Box:
        if rows not in self.made:
            self.made[rows] = self._cheapest(rows)
        return self.made[rows]

    def _cheapest(self, rows: tuple[Row, ...]) -> Box:
        """Choose the keys of a box: the fewest that keep all others out, among these the cheapest, then the first.

        Among keys that keep out the same others, only the cheapest is tried.
        """
        every = (1 << len(self.others)) - 1
        inside = reduce(_merged, (self.inside[row] for row in rows))
        best: dict[int, tuple[float, int]] = {}
        for key, mask in enumerate(inside):
            if outside := every & ~mask:
                allowed = frozenset(row[key] for row in rows)
                price = self.cost(key, allowed, self.outside[key] - allowed)
                best[outside] = min(best.get(outside, (price, key)), (price, key))
        usable = sorted((price, key, outside) for outside, (price, key) in best.items())
        most = sorted((outside.bit_count() for _, _, outside in usable), reverse=True)
        for size in range(1, len(usable) + 1):
            if sum(most[:size]) < len(self.others):
                continue
            found: tuple[float, tuple[int, ...]] | None = None
            for some in combinations(usable, size):
                self.choices -= 1
                if self.choices < 0:
                    return self._hurried(rows, usable, every)
                kept_out = 0
                for _, _, outside in some:
                    kept_out |= outside
                if kept_out == every:
                    choice = (sum(price for price, _, _ in some), tuple(key for _, key, _ in some))
                    found = choice if found is None else min(found, choice)
            if found is not None:
                return Box(rows, found[1], found[0])
        raise AssertionError("the caller places rows only where some key keeps each other out")

    def _hurried(self, rows: tuple[Row, ...], usable: Sequence[tuple[float, int, int]], every: int) -> Box:
        """Choose keys greedily: each time the key that keeps out most of the rest."""
        chosen: list[tuple[float, int, int]] = []
        rest = every
        while rest:
            take = max(usable, key=lambda item: ((item[2] & rest).bit_count(), -item[0], -item[1]))
            chosen.append(take)
            rest &= ~take[2]
        return Box(rows, tuple(key for _, key, _ in chosen), sum(price for price, _, _ in chosen))


def _merged(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(or_, one, other))
