"""Finds the nodes that a pod's nodeSelector and node affinity match.

A set of node classes, or of nodes, is an integer with one bit for each class or node. So a term of node affinity costs
a few operations on integers, whatever the number of nodes. A pod may have hundreds of terms with thousands of values,
and a cluster may have hundreds of classes.

Names, and the labels in ``Conventions.ignored_labels``, are not part of a class. A selection is evaluated for each node
only if the selection reads names or ignored labels.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import or_
from typing import Final, TypeAlias

from ..kube.selector import integer
from .need import NODE_NAME_FIELD, Expression, NodeSelection, Term
from .node_sets import Part

Bits: TypeAlias = int
"""A set of row numbers as an integer: bit n stands for row n. A row is a class of nodes, or a node."""

# For a value that fewer rows have, the bits are computed each time: a label like the hostname has as many values as
# there are nodes, and a set of nodes for each of them would be megabytes.
_FEW_ROWS: Final = 8
# The number of rows that may be joined one by one.
_STEP: Final = 64
# A review asks about the pod before and after the policies.
_REMEMBERED: Final = 2


class _Column:
    """The values of a label key: for each value, the rows (classes or nodes) that have the value."""

    def __init__(self, values: Iterable[tuple[int, str]]) -> None:
        """Build the column from pairs of (row number, value); a row is a class of nodes or a node.

        Rows without the label are left out.
        """
        self._rows: dict[str, list[int]] = {}
        for row, value in values:
            self._rows.setdefault(value, []).append(row)
        self._bits: dict[str, Bits] = {}
        self.present: Bits = _bits([row for rows in self._rows.values() for row in rows])
        self._ordered: tuple[list[int], list[int], list[Bits]] | None = None

    def having(self, values: Iterable[str]) -> Bits:
        """Return the rows (classes of nodes, or nodes) whose value of the label is one of ``values``."""
        found: Bits = 0
        few: list[int] = []
        for value in self._rows.keys() & frozenset(values):
            rows = self._rows[value]
            if len(rows) <= _FEW_ROWS:
                few += rows
            elif value in self._bits:
                found |= self._bits[value]
            else:
                self._bits[value] = _bits(rows)
                found |= self._bits[value]
        return found | _bits(few)

    def beside(self, operator: str, bound: int) -> Bits:
        """Return the rows (classes of nodes, or nodes) whose value of the label is a number above or below ``bound``.

        ``operator`` is Gt for above, and Lt for below.
        """
        numbers, rows, up_to = self._ordered = self._ordered or self._in_order()

        def first(count: int) -> Bits:
            whole = count // _STEP
            return up_to[whole] | _bits(rows[whole * _STEP : count])

        if operator == "Lt":
            return first(bisect_left(numbers, bound))
        return first(len(rows)) & ~first(bisect_right(numbers, bound))

    def _in_order(self) -> tuple[list[int], list[int], list[Bits]]:
        """Return (the numeric values of the label in ascending order, the row of each value, sets of rows).

        A row is a class of nodes, or a node. Set n has the first n * ``_STEP`` rows in that order.
        """
        parsed = ((integer(value), rows) for value, rows in self._rows.items())
        found = sorted((number, row) for number, rows in parsed if number is not None for row in rows)
        rows = [row for _, row in found]
        steps = (_bits(rows[start : start + _STEP]) for start in range(0, len(rows), _STEP))
        return [number for number, _ in found], rows, list(accumulate(steps, or_, initial=0))


class _Table:
    """A table of rows (classes or nodes) with their labels, which finds the rows that meet a requirement on a label."""

    def __init__(self, labels: Sequence[Iterable[tuple[str, str]]]) -> None:
        self._labels = labels
        self._keys = frozenset(key for each in labels for key, _ in each)
        self._columns: dict[str, _Column] = {}
        self.all: Bits = (1 << len(labels)) - 1

    def meeting(self, expression: Expression) -> Bits:
        """Return the rows (classes of nodes, or nodes) that meet a requirement on a label, by the scheduler's rules."""
        key, operator, values = expression
        column = self._column(key)
        if operator == "In":
            return column.having(values)
        if operator == "NotIn":
            return self.all & ~column.having(values) if values else 0
        if operator == "Exists":
            return 0 if values else column.present
        if operator == "DoesNotExist":
            return 0 if values else self.all & ~column.present
        if operator in ("Gt", "Lt") and len(values) == 1 and (bound := integer(values[0])) is not None:
            return column.beside(operator, bound)
        return 0

    def _column(self, key: str) -> _Column:
        """Return the column of a label key; the column is built at the first call."""
        if key not in self._keys:
            return _NOWHERE
        if key not in self._columns:
            pairs = ((row, value) for row, each in enumerate(self._labels) for name, value in each if name == key)
            self._columns[key] = _Column(pairs)
        return self._columns[key]


class Choices:
    """The classes of nodes in an index. ``chosen`` returns the nodes that a pod's node selection matches."""

    def __init__(self, classes: tuple[Part, ...], ignored: frozenset[str]) -> None:
        """Create the object from the classes with all their nodes, and the label keys that are not part of a class."""
        self._classes = classes
        self._ignored = ignored
        self._of_classes: _Table | None = None
        self._nodes: _Nodes | None = None
        self._remembered: dict[NodeSelection, tuple[Part, ...]] = {}

    def chosen(self, selection: NodeSelection) -> tuple[Part, ...]:
        """Return the nodes that a pod's node selection matches; each ``Part`` has those of one class of nodes.

        The results for the last two selections are cached.
        """
        found = self._remembered.get(selection)
        if found is None:
            found = tuple(self._choose(selection))
            if len(self._remembered) >= _REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
            self._remembered[selection] = found
        return found

    def _choose(self, selection: NodeSelection) -> Iterator[Part]:
        table = self._of_classes = self._of_classes or _Table(
            [part.node_class.labels.items() for part in self._classes]
        )
        if not selection.reads_name and selection.keys.isdisjoint(self._ignored):
            everywhere = table.all
            for key, value in selection.labels:
                everywhere &= table.meeting((key, "In", (value,)))
            chosen = everywhere if selection.terms is None else 0
            for expressions, _ in selection.terms or ():
                chosen |= _all_of(table, expressions, everywhere) if expressions else 0
            return (part for row, part in enumerate(self._classes) if chosen >> row & 1)
        nodes = self._nodes = self._nodes or _Nodes(self._classes)
        return nodes.parts(self._by_node(selection, table, nodes))

    def _by_node(self, selection: NodeSelection, table: _Table, nodes: "_Nodes") -> Bits:
        """Return the nodes that match ``selection``, checked node by node.

        ``selection`` reads names or ignored labels (``Conventions.ignored_labels``), which nodes of a class do not
        share.
        """
        pairs = tuple((key, "In", (value,)) for key, value in selection.labels)
        classes, everywhere = self._halves((pairs, ()), (table, table.all), nodes)
        if selection.terms is None:
            return nodes.of_classes(classes) & everywhere
        # Terms that match the same classes are joined first, so that a set of classes is expanded to nodes once.
        joined: dict[Bits, Bits] = {}
        for term in selection.terms:
            if any(term):
                rows, single = self._halves(term, (table, classes), nodes)
                joined[rows] = joined.get(rows, 0) | single
        chosen: Bits = 0
        for rows, single in joined.items():
            chosen |= nodes.of_classes(rows) & single if rows else 0
        return chosen & everywhere

    def _halves(self, term: Term, among: tuple[_Table, Bits], nodes: "_Nodes") -> tuple[Bits, Bits]:
        """Return (the classes that meet one part of a term's requirements, the nodes that meet the other part).

        The classes, a subset of those in ``among``, meet the requirements on labels that all nodes of a class share.
        The nodes, of any class, meet the term's requirements on names and on ignored labels, which nodes of a class do
        not share. A node of these classes that is among these nodes meets the term.
        """
        expressions, fields = term
        table, classes = among
        classes = _all_of(table, [each for each in expressions if each[0] not in self._ignored], classes)
        own = [each for each in expressions if each[0] in self._ignored]
        single = nodes.table.all
        if own and classes:
            single = _all_of(nodes.table, own, single)
        for each in fields if classes else ():
            single &= nodes.named(each)
        return classes, single


class _Nodes:
    """All nodes, ordered by class, with their names and their labels in ``Conventions.ignored_labels``."""

    def __init__(self, classes: tuple[Part, ...]) -> None:
        self._classes = classes
        members = [part.node_class.members for part in classes]
        self._names = [name for each in members for name in each]
        self._rows = {name: row for row, name in enumerate(self._names)}
        self.table = _Table([own for each in members for own in each.values()])
        starts = list(accumulate((len(each) for each in members), initial=0))
        self._starts = starts
        self._whole = [(1 << len(each)) - 1 for each in members]

    def of_classes(self, classes: Bits) -> Bits:
        """Return the set of all nodes in a set of classes."""
        if classes == (1 << len(self._classes)) - 1:
            return self.table.all
        found: Bits = 0
        for place, whole in enumerate(self._whole):
            if classes >> place & 1:
                found |= whole << self._starts[place]
        return found

    def named(self, field: Expression) -> Bits:
        """Return the nodes that meet a matchFields requirement.

        No node meets a requirement other than In or NotIn with one value. The only field of a node is its name; any
        other field counts as empty.
        """
        key, operator, values = field
        if len(values) != 1 or operator not in ("In", "NotIn"):
            return 0
        if key == NODE_NAME_FIELD:
            row = self._rows.get(values[0])
            same = 0 if row is None else 1 << row
        else:
            same = 0 if values[0] else self.table.all
        return same if operator == "In" else self.table.all & ~same

    def parts(self, chosen: Bits) -> Iterator[Part]:
        """Yield, for each class, the nodes of the class in the set ``chosen``.

        Classes without such nodes are left out.
        """
        for part, start, whole in zip(self._classes, self._starts, self._whole, strict=False):
            found = chosen >> start & whole
            if found == whole:
                yield part
            elif found:
                names = self._names[start : start + part.count]
                yield Part(part.node_class, frozenset(name for at, name in enumerate(names) if found >> at & 1))


def _all_of(table: _Table, expressions: Iterable[Expression], among: Bits) -> Bits:
    """Return the rows (classes of nodes, or nodes) in ``among`` that meet all requirements on labels."""
    for each in expressions:
        if not among:
            break
        among &= table.meeting(each)
    return among


def _bits(rows: Sequence[int]) -> Bits:
    if not rows:
        return 0
    # As bytes: each `1 << row` would be a number as long as the set.
    found = bytearray(max(rows) // 8 + 1)
    for row in rows:
        found[row >> 3] |= 1 << (row & 7)
    return int.from_bytes(found, "little")


_NOWHERE: Final = _Column(())
