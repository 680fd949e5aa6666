"""Searches for the fewest label expressions that select every wanted row and no other row.

A row is the values that a node has for a list of label keys; None stands for an absent label. A box allows a set of
values for each key. One label expression can state any such set, so a box is one nodeSelectorTerm, and several boxes
are ORed terms. The problem is the minimisation of multiple-valued logic (Rudell and Sangiovanni-Vincentelli, IEEE
Trans. CAD 6(5), 1987). It contains set cover and is therefore NP-hard.

The problem is small in practice: each wanted row needs to be in one box only. So the search divides the wanted rows
into groups, and the box of a group allows just the values of the group's rows. It takes the division that is minimal in
(boxes, expressions, cost), among those whose boxes contain no other row. A box needs expressions only for the keys that
exclude other rows: the cheapest hitting set of keys.

The work is bounded by ``PLACEMENTS`` (trials of a row in a box) and ``CHOICES`` (trials of a set of keys). The cost of
each trial is linear in the number of keys, because a set of other rows is one integer. When a bound is reached, the
best result so far is returned: the boxes are exact, but fewer boxes may be possible.
More than ``MOST_ROWS`` wanted rows are only joined greedily.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from operator import and_, or_
from typing import TypeAlias

Row: TypeAlias = tuple[str | None, ...]
Cost: TypeAlias = Callable[[int, frozenset[str | None], frozenset[str | None]], float]
"""The function that returns the cost of an expression, from the key's index, the allowed values and the excluded
values.
"""

# A placement takes about 8 µs with forty keys and 450 others, and a choice 1.5 µs, so all of them take about 40 ms;
# cover searches twice. Answers are remembered (bench/expressions.py measures it).
PLACEMENTS = 3_000
CHOICES = 10_000
# The search is as deep as there are rows, and clusters have fewer than a hundred kinds of nodes that fit one pod.
MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Box:
    """One nodeSelectorTerm: the wanted rows that the term selects, and the keys whose values exclude all other rows.

    A row has the values of a node's labels, and a key is the index of a label in each row.
    """

    rows: tuple[Row, ...]
    keys: tuple[int, ...]
    cost: float

    def allowed(self, key: int) -> frozenset[str | None]:
        """Return the values that the rows of the box have at the index ``key``; None stands for an absent label."""
        return frozenset(row[key] for row in self.rows)


def fewest(wanted: Iterable[Row], others: Iterable[Row], cost: Cost, *, most: int) -> tuple[Box, ...] | None:
    """Return at most ``most`` boxes that contain all wanted rows and no row of ``others``; None if none are found.

    A row has the values of a node's labels. No row may be in both ``wanted`` and ``others``, and neither list may be
    empty. Among results with equally many boxes and expressions, the one whose expressions cost the least in total is
    returned; ``cost`` returns the cost of one expression. The result does not depend on the order of the rows.
    """
    search = _Search(sorted(set(wanted), key=_order), sorted(set(others), key=_order), cost)
    return search.run(most)


def _order(row: Row) -> tuple[tuple[bool, str], ...]:
    return tuple((value is not None, value or "") for value in row)


@dataclass(slots=True)
class _Search:
    """The state of one search for boxes. A box allows a set of values for each label key; a row is a node's values.

    ``inside`` has, for each wanted row and each key, a bit set of the rows of ``others`` that share the wanted row's
    value for the key.
    """

    wanted: list[Row]
    others: list[Row]
    cost: Cost
    placements: int = field(default_factory=lambda: PLACEMENTS)
    """The number of placements that the search may still try; negative when there are none left."""
    choices: int = field(default_factory=lambda: CHOICES)
    outside: list[frozenset[str | None]] = field(default_factory=list)
    inside: dict[Row, tuple[int, ...]] = field(default_factory=dict)
    made: dict[tuple[Row, ...], Box] = field(default_factory=dict)
    best: tuple[tuple[int, float], list[Box]] | None = None

    def run(self, most: int) -> tuple[Box, ...] | None:
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
        return None if greedy is None else self._answer([self._box(rows) for rows in greedy])

    def _answer(self, boxes: list[Box]) -> tuple[Box, ...]:
        return tuple(sorted(boxes, key=lambda box: (len(box.keys), box.cost, [_order(row) for row in box.rows])))

    def _greedy(self, most: int) -> list[tuple[Row, ...]] | None:
        """Return at most ``most`` groups of wanted rows, found greedily; None if more groups are needed.

        The rows of a group share a box: the set of allowed values for each label key, which contains no row of
        ``others``.
        """
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
        """Put the wanted rows from ``number`` on into at most ``count`` boxes, in all possible ways; keep the best.

        ``members`` has the rows of each box so far. ``inside`` has, for each box and label key, the other rows whose
        value the box allows, one bit for each row. A row is the label values of a node; a box is a set of allowed
        values for each label key.
        """
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
        """Return the box for some wanted rows that uses the fewest label keys to exclude all rows of ``others``.

        If several boxes use equally few keys, the result is the box with the lowest cost. If several keys exclude equal
        sets of the rows in ``others``, only the cheapest of these keys is tried.
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
        """Return a box for ``rows`` with greedily chosen label keys: each key excludes the most rows not excluded yet.

        ``usable`` has (cost, key, bit set of the rows of ``others`` that the key excludes), and ``every`` is the set of
        all rows of ``others``.
        """
        chosen: list[tuple[float, int, int]] = []
        rest = every
        while rest:
            take = max(usable, key=lambda item: ((item[2] & rest).bit_count(), -item[0], -item[1]))
            chosen.append(take)
            rest &= ~take[2]
        return Box(rows, tuple(key for _, key, _ in chosen), sum(price for price, _, _ in chosen))


def _merged(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(or_, one, other))
