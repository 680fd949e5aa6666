"""Searches for the fewest and most meaningful nodeSelectorTerms that select the wanted nodes and no unwanted node.

The search first uses only the labels with a configured meaning, because future nodes will have these labels, too. If
they do not suffice, the search uses all labels. Each search returns the fewest terms. Among results with equally few
terms, it prefers fewer expressions, then labels that are earlier in ``Conventions.label_keys``, and then simpler
expressions. The result is always exact, or ``Cover.exact`` is False: exact terms select every wanted label set and no
unwanted label set. Three kinds of labels are never used: the hostname, the conventions' ignored labels, and a label
without configured meaning whose every value belongs to one node.

The work of each search is limited, and there are two searches at most. If a result has more than MAX_TERMS terms, or
more than MAX_VALUES values in all terms together, no terms are returned: people could not read them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..conventions import Conventions
from ..wellknown import HOSTNAME_LABEL
from .boxes import Box, Row, fewest

# A user's terms multiply podberth's, and 32 are allowed in all (mutation/affinity.py): eight leave room for four.
MAX_TERMS = 8
# A quarter of the comparisons that the scheduler makes for each node with the longest public manifests; a person reads
# ten. Longer lists are lists of racks, which say nothing about future nodes.
MAX_VALUES = 64

Term: TypeAlias = dict[str, Any]
Values: TypeAlias = frozenset[str | None]


class LabelledNodes(NamedTuple):
    """A set of labels, and the number of nodes that have exactly these labels."""

    labels: Mapping[str, str]
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class Cover:
    """The nodeSelectorTerms for the wanted nodes, and whether the terms exclude all other nodes."""

    terms: tuple[Term, ...]
    """nodeSelectorTerms, which are ORed; empty if no term is needed or possible.

    If ``exact`` is False, the terms select all wanted nodes, and of the other nodes only those with the same labels as
    a wanted node.
    """
    exact: bool
    """Whether the terms select all wanted nodes and no other node. Without terms: whether no other node needs
    exclusion.
    """
    too_long: bool = False
    """Whether exact terms exist but exceed ``MAX_TERMS`` or ``MAX_VALUES``."""


def cover(wanted: Sequence[LabelledNodes], others: Sequence[LabelledNodes], *, conventions: Conventions) -> Cover:
    """Return the terms that select every label set in ``wanted`` and no label set in ``others``, if labels can do so.

    If labels cannot do so, the result's field ``exact`` is False. There are no terms if ``wanted`` or ``others`` is
    empty. A label set in neither argument, such as that of a transient node, may match or not.
    """
    if not wanted or not others:
        return Cover((), exact=True)
    unusable = conventions.ignored_labels | {HOSTNAME_LABEL}
    ranked = [each.key for each in conventions.label_keys if each.key not in unusable]
    found = _Search(ranked, wanted, others, conventions).cover()
    if not found.exact:
        incidental = _incidental([*wanted, *others], unusable.union(ranked))
        found = _Search([*ranked, *incidental], wanted, others, conventions).cover()
    return found


def _incidental(kinds: Iterable[LabelledNodes], unusable: frozenset[str]) -> list[str]:
    """Return the label keys, sorted, that have no configured meaning and of which several nodes share a value.

    ``unusable`` are the keys to leave out: keys with a configured meaning, and keys that the search must not use.
    """
    seen: dict[str, set[str]] = {}
    shared: set[str] = set()
    for labels, nodes in kinds:
        for key, value in labels.items():
            values = seen.setdefault(key, set())
            if nodes > 1 or value in values:
                shared.add(key)
            values.add(value)
    return sorted(shared - unusable)


class _Search:
    """The search for terms that use only the given label keys; keys with a configured meaning come first."""

    def __init__(
        self,
        keys: Sequence[str],
        wanted: Sequence[LabelledNodes],
        others: Sequence[LabelledNodes],
        conventions: Conventions,
    ) -> None:
        sides = [{tuple(map(one.labels.get, keys)) for one in kinds} for kinds in (wanted, others)]
        # A key that has one value everywhere distinguishes nothing.
        varied = [place for place, seen in enumerate(zip(*sides[0], *sides[1], strict=True)) if len(set(seen)) > 1]
        self.keys = [keys[place] for place in varied]
        ranks = {each.key: rank for rank, each in enumerate(conventions.label_keys)}
        self.ranks = [ranks.get(key, len(ranks)) for key in self.keys]
        numbers = {each.key for each in conventions.label_keys if each.number}
        self.numbers = [key in numbers for key in self.keys]
        self.wanted, self.others = ({tuple(row[place] for place in varied) for row in side} for side in sides)

    def cover(self) -> Cover:
        """Return the terms that select the wanted nodes and use only the label keys of this search."""
        distinct = self.others - self.wanted
        exact = len(distinct) == len(self.others)
        if not distinct:
            return Cover((), exact=exact)
        found = fewest(self.wanted, distinct, self._cost, most=MAX_TERMS)
        terms = () if found is None else self._terms(found, distinct)
        if (
            found is None
            or sum(len(e.get("values", ())) for term in terms for e in term["matchExpressions"]) > MAX_VALUES
        ):
            return Cover((), exact=False, too_long=exact)
        return Cover(terms, exact=exact)

    def _cost(self, key: int, allowed: Values, outside: Values) -> float:
        """Return the cost of the expression that allows the values ``allowed`` of a label key and excludes ``outside``.

        ``key`` is the index of the label key. The cost depends first on the key's place in ``Conventions.label_keys``,
        where earlier keys cost less, and then on the form of the expression. An expression with too many values has the
        highest cost.
        """
        plainness, said = _plainest(allowed, outside, number=self.numbers[key])
        return self.ranks[key] * _RANK + plainness + (_LAST if len(said.get("values", ())) > MAX_VALUES else 0)

    def _terms(self, boxes: tuple[Box, ...], distinct: set[Row]) -> tuple[Term, ...]:
        outside = [frozenset(row[key] for row in distinct) for key in range(len(self.keys))]
        terms = []
        for box in boxes:
            expressions = []
            for key in box.keys:
                allowed = box.allowed(key)
                _, said = _plainest(allowed, outside[key] - allowed, number=self.numbers[key])
                expressions.append({"key": self.keys[key], **said})
            terms.append({"matchExpressions": expressions})
        return tuple(terms)


# In with one value is the simplest to read and holds for future nodes; Exists and DoesNotExist come before a
# comparison, and a comparison before a list of values. A list of excluded values comes last, because it lets every
# unknown value in.
_PRESENCE_COST = 1.5
_ORDER_COST = 1.75
_NEGATION_COST = 1.0
# One rank is worth more than any usable number of values, and the last place more than all ranks.
_RANK = 1e3
_LAST = 1e9
# Within the 64 bits that the scheduler reads (strconv.ParseInt), whatever is added.
_MOST_DIGITS = 18


def _plainest(allowed: Values, outside: Values, *, number: bool) -> tuple[float, dict[str, Any]]:
    """Return (cost, expression) of the simplest expression that matches all ``allowed`` values and none of ``outside``.

    None stands for an absent label. The sets ``allowed`` and ``outside`` are disjoint and not empty. So an expression
    is always possible: In with the allowed values, or, if None is allowed, NotIn with the values of ``outside``. Gt and
    Lt are considered only if the label's values are configured as numbers (``number``).
    """
    choices: list[tuple[float, dict[str, Any]]] = []
    values, unwanted = _present(allowed), _present(outside)
    if None not in allowed:
        choices.append((float(len(values)), {"operator": "In", "values": values}))
        if not unwanted:
            choices.append((_PRESENCE_COST, {"operator": "Exists"}))
        if number and unwanted and (said := _comparison(values, unwanted)):
            choices.append((_ORDER_COST, said))
    elif not values:
        choices.append((_PRESENCE_COST, {"operator": "DoesNotExist"}))
    if None not in outside:
        choices.append((len(unwanted) + _NEGATION_COST, {"operator": "NotIn", "values": unwanted}))
    return min(choices, key=lambda choice: choice[0])


def _comparison(values: list[str], unwanted: list[str]) -> dict[str, Any] | None:
    """Return a Gt or Lt expression that matches all of ``values`` and none of ``unwanted``; None if impossible."""
    if not all(text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS for text in (*values, *unwanted)):
        return None
    meant, kept_out = [int(text) for text in values], [int(text) for text in unwanted]
    if max(kept_out) < min(meant):
        return {"operator": "Gt", "values": [str(min(meant) - 1)]}
    if min(kept_out) > max(meant):
        return {"operator": "Lt", "values": [str(max(meant) + 1)]}
    return None


def _present(values: Values) -> list[str]:
    return sorted(value for value in values if value is not None)
