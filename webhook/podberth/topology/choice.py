"""Finds the nodes that a pod's nodeSelector and node affinity match.

A set of nodes is an integer with one bit for each node, and the nodes of a class are adjacent bits. So a term of node
affinity costs a few operations on integers, whatever the number of nodes. A pod may have hundreds of terms with
thousands of values, and a cluster may have hundreds of classes.

Names, and the labels in ``Conventions.ignored_labels``, are not part of a class. Such a label is read from each node,
the first time that a selection asks for it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import or_
from typing import Final, TypeAlias

from ..kube.selector import integer
from .need import NODE_NAME_FIELD, Expression, NodeSelection
from .node_sets import Part

Bits: TypeAlias = int
"""A set of nodes as an integer: bit n stands for the node number n."""
Run: TypeAlias = tuple[int, int]
"""Adjacent nodes, such as those of a class: (number of the first node, number of nodes)."""

# For a value that fewer runs have, the bits are computed each time: a label like the hostname has as many values as
# there are nodes, and a set of nodes for each of them would be megabytes.
_FEW_RUNS: Final = 8
# The number of runs that may be joined one by one.
_STEP: Final = 16
# A review asks about the pod before and after the policies.
_REMEMBERED: Final = 2


class _Column:
    """The values of a label key: for each value, the nodes that have the value."""

    def __init__(self, values: Iterable[tuple[str, Run]]) -> None:
        """Build the column from pairs of (value, nodes that have it). Nodes without the label are left out."""
        self._runs: dict[str, list[Run]] = {}
        for value, run in values:
            self._runs.setdefault(value, []).append(run)
        self._bits: dict[str, Bits] = {}

    @cached_property
    def present(self) -> Bits:
        """The nodes that have the label."""
        return _bits([run for runs in self._runs.values() for run in runs])

    def having(self, values: Iterable[str]) -> Bits:
        """Return the nodes whose value of the label is one of ``values``."""
        found: Bits = 0
        for value in self._runs.keys() & frozenset(values):
            runs = self._runs[value]
            if value in self._bits:
                found |= self._bits[value]
            elif len(runs) <= _FEW_RUNS:
                found |= _bits(runs)
            else:
                found |= self._bits.setdefault(value, _bits(runs))
        return found

    def beside(self, operator: str, bound: int) -> Bits:
        """Return the nodes whose value of the label is a number above or below ``bound``.

        ``operator`` is Gt for above, and Lt for below.
        """
        numbers, runs, up_to = self._ordered

        def first(count: int) -> Bits:
            whole = count // _STEP
            return up_to[whole] | _bits(runs[whole * _STEP : count])

        if operator == "Lt":
            return first(bisect_left(numbers, bound))
        return first(len(runs)) & ~first(bisect_right(numbers, bound))

    @cached_property
    def _ordered(self) -> tuple[list[int], list[Run], list[Bits]]:
        """(The numeric values of the label in ascending order, the nodes with each value, sets of nodes).

        Set n has the nodes of the first n * ``_STEP`` values in that order.
        """
        parsed = ((integer(value), runs) for value, runs in self._runs.items())
        found = sorted((number, run) for number, runs in parsed if number is not None for run in runs)
        runs = [run for _, run in found]
        steps = (_bits(runs[start : start + _STEP]) for start in range(0, len(runs), _STEP))
        return [number for number, _ in found], runs, list(accumulate(steps, or_, initial=0))


class Choices:
    """The classes of nodes in an index. ``chosen`` returns the nodes that a pod's node selection matches."""

    def __init__(self, classes: tuple[Part, ...], ignored: frozenset[str]) -> None:
        """Create the object from the classes with all their nodes, and the label keys that are not part of a class."""
        self._classes = classes
        self._ignored = ignored
        counts = [part.count for part in classes]
        self._runs: list[Run] = list(zip(accumulate(counts, initial=0), counts, strict=False))
        self._all: Bits = (1 << sum(counts)) - 1
        self._columns: dict[str, _Column] = {}
        self._remembered: dict[NodeSelection, tuple[Part, ...]] = {}

    def chosen(self, selection: NodeSelection) -> tuple[Part, ...]:
        """Return the nodes that a pod's node selection matches; each ``Part`` has those of one class of nodes.

        The results for the last two selections are cached.
        """
        found = self._remembered.get(selection)
        if found is None:
            found = tuple(self._parts(self._choose(selection)))
            if len(self._remembered) >= _REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
            self._remembered[selection] = found
        return found

    def _choose(self, selection: NodeSelection) -> Bits:
        everywhere = self._all_of([(key, "In", (value,)) for key, value in selection.labels], self._all)
        if selection.terms is None:
            return everywhere
        chosen: Bits = 0
        for expressions, fields in selection.terms:
            found = self._all_of(expressions, everywhere) if expressions or fields else 0
            for each in fields if found else ():
                found &= self._named(each)
            chosen |= found
        return chosen

    def _all_of(self, expressions: Iterable[Expression], among: Bits) -> Bits:
        """Return the nodes in ``among`` that meet all requirements on labels."""
        for each in expressions:
            if not among:
                break
            among &= self._meeting(each)
        return among

    def _meeting(self, expression: Expression) -> Bits:
        """Return the nodes that meet a requirement on a label, by the scheduler's rules."""
        key, operator, values = expression
        column = self._column(key)
        if operator == "In":
            return column.having(values)
        if operator == "NotIn":
            return self._all & ~column.having(values) if values else 0
        if operator == "Exists":
            return 0 if values else column.present
        if operator == "DoesNotExist":
            return 0 if values else self._all & ~column.present
        if operator in ("Gt", "Lt") and len(values) == 1 and (bound := integer(values[0])) is not None:
            return column.beside(operator, bound)
        return 0

    def _column(self, key: str) -> _Column:
        """Return the column of a label key; the column is built at the first call."""
        if key not in self._keys:
            return _NOWHERE
        if key not in self._columns:
            self._columns[key] = _Column(self._values(key))
        return self._columns[key]

    @cached_property
    def _keys(self) -> frozenset[str]:
        """The label keys that any node has, and the keys that are not part of a class."""
        return self._ignored.union(*(part.node_class.labels for part in self._classes))

    def _values(self, key: str) -> Iterator[tuple[str, Run]]:
        for part, (start, count) in zip(self._classes, self._runs, strict=True):
            if key in self._ignored:
                for place, own in enumerate(part.node_class.members.values(), start):
                    yield from ((value, (place, 1)) for name, value in own if name == key)
            elif key in part.node_class.labels:
                yield part.node_class.labels[key], (start, count)

    def _named(self, field: Expression) -> Bits:
        """Return the nodes that meet a matchFields requirement.

        No node meets a requirement other than In or NotIn with one value. The only field of a node is its name; any
        other field counts as empty.
        """
        key, operator, values = field
        if len(values) != 1 or operator not in ("In", "NotIn"):
            return 0
        if key == NODE_NAME_FIELD:
            place = self._places.get(values[0])
            same = 0 if place is None else 1 << place
        else:
            same = 0 if values[0] else self._all
        return same if operator == "In" else self._all & ~same

    @cached_property
    def _places(self) -> dict[str, int]:
        """A mapping from the name of each node to the node's number."""
        names = (name for part in self._classes for name in part.node_class.members)
        return {name: place for place, name in enumerate(names)}

    def _parts(self, chosen: Bits) -> Iterator[Part]:
        """Yield, for each class, the nodes of the class in the set ``chosen``.

        Classes without such nodes are left out.
        """
        for part, (start, count) in zip(self._classes, self._runs, strict=True):
            whole = (1 << count) - 1
            found = chosen >> start & whole
            if found == whole:
                yield part
            elif found:
                names = enumerate(part.node_class.members)
                yield Part(part.node_class, frozenset(name for at, name in names if found >> at & 1))


def _bits(runs: Sequence[Run]) -> Bits:
    found: Bits = 0
    for start, count in runs:
        found |= ((1 << count) - 1) << start
    return found


_NOWHERE: Final = _Column(())
