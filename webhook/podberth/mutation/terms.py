"""Node selector terms as logic: implications, contradictions, and the product of two lists of terms.

A term is a conjunction of expressions, and a list of terms is a disjunction (core/v1 NodeSelector). The result depends
on the expressions alone, not on known nodes or labels.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Term: TypeAlias = Mapping[str, Any]
"""NodeSelectorTerm: ``{"matchExpressions": [...], "matchFields": [...]}``, both optional."""

# The scheduler reads Gt and Lt as 64-bit integers (apimachinery pkg/labels, strconv.ParseInt).
_MOST_DIGITS = 18
_POSITIVE = ("In", "Exists", "Gt", "Lt")
"""Operators that a node without the label never satisfies."""


def expressions(term: Term) -> list[dict[str, Any]]:
    """Return the term's label expressions; empty if the field is absent or null."""
    return list(term.get("matchExpressions") or ())


def is_empty(term: Term) -> bool:
    """Tell whether the term has no requirement at all; such a term selects no node."""
    return not term.get("matchExpressions") and not term.get("matchFields")


class Fact:
    """An expression that is true for a node, with its values in a form for fast look-ups."""

    __slots__ = ("_known", "expression", "key", "operator", "values")

    def __init__(self, expression: Mapping[str, Any]) -> None:
        """Read an expression, which may have no values."""
        self.expression = expression
        self.key: str | None = expression.get("key")
        self.operator: str | None = expression.get("operator")
        self.values: Sequence[str] = expression.get("values") or []
        self._known: frozenset[str] | None = None

    def has(self, value: str) -> bool:
        """Tell whether the expression has the value; a pod may list thousands of values."""
        if self._known is None:
            self._known = frozenset(self.values)
        return value in self._known

    def is_met_by(self, value: str) -> bool:
        """Tell whether a label with this value meets the expression."""
        if self.operator in ("In", "NotIn"):
            return self.has(value) == (self.operator == "In")
        if self.operator not in ("Gt", "Lt") or len(self.values) != 1:
            return False
        than = self.values[0]
        if not (_is_integer(value) and _is_integer(than)):
            return False
        return int(value) > int(than) if self.operator == "Gt" else int(value) < int(than)


class KnownTerm:
    """The facts that are true of every node of a term that also meets the pod's nodeSelector, by label key.

    A term may have a thousand expressions, and is compared with every term of podberth's. So an expression is compared
    only with those on its own key, and each result is kept.
    """

    __slots__ = ("_by_key", "_implied", "_selector", "term")

    def __init__(self, term: Term, selector: Mapping[str, str] | None = None) -> None:
        """Take a term and ``spec.nodeSelector``."""
        self.term = term
        self._selector = selector or {}
        self._by_key: dict[Any, list[Fact]] = {}
        for each in term.get("matchExpressions") or ():
            self._by_key.setdefault(each.get("key"), []).append(Fact(each))
        # The results by the identity of a fact. The fact is kept with the result, so that its id stays its own.
        self._implied: dict[int, tuple[Fact, bool]] = {}

    def about(self, key: Any) -> list[Fact]:
        """Return the known facts about a label, those of the term first."""
        own = self._by_key.get(key, [])
        if key not in self._selector:
            return own
        return [*own, Fact({"key": key, "operator": "In", "values": [self._selector[key]]})]

    def says(self, fact: Fact) -> bool:
        """Tell whether one of the known facts alone implies ``fact``."""
        found = self._implied.get(id(fact))
        if found is None:
            found = self._implied[id(fact)] = (fact, any(_implies(mine, fact) for mine in self.about(fact.key)))
        return found[1]

    def implies(self, other: "WantedTerm") -> bool:
        """Tell whether every node that meets this term meets ``other``; False for an empty ``other``."""
        own = self.term.get("matchFields") or ()
        if is_empty(other.term) or any(each not in own for each in other.term.get("matchFields") or ()):
            return False
        return all(map(self.says, other.facts))

    def contradiction(self, other: "WantedTerm") -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
        """Return an expression of ``other`` and a known one that contradict each other; None if no two do."""
        return next(
            (
                (wanted.expression, mine.expression)
                for wanted in other.facts
                for mine in self.about(wanted.key)
                if _excludes(wanted, mine)
            ),
            None,
        )


class WantedTerm:
    """A term of podberth's, to be compared with the known facts."""

    __slots__ = ("facts", "term")

    def __init__(self, term: Term) -> None:
        """Read the expressions of the term."""
        self.term = term
        self.facts = [Fact(each) for each in term.get("matchExpressions") or ()]


def product(users: Iterable[KnownTerm], ours: Sequence[WantedTerm]) -> list[dict[str, Any]]:
    """Return the terms that select exactly what both lists select.

    A user's term that implies one of podberth's stays as it is. Any other is joined with each term of podberth's, but
    not with those that contradict it. A joined term that another joined term includes is left out. If all terms
    contradict the user's, the first is joined nevertheless: the result selects no node, but keeps the user's
    expressions. An empty term, which selects no node, stays as well. The order of keys is kept.
    """
    result: list[dict[str, Any]] = []
    for known in users:
        if is_empty(known.term) or any(map(known.implies, ours)):
            result.append(dict(known.term))
            continue
        possible = [other for other in ours if known.contradiction(other) is None] or ours[:1]
        result += _widest(known, possible)
    return result


def _widest(known: KnownTerm, possible: Sequence[WantedTerm]) -> list[dict[str, Any]]:
    """Return a term joined with each of podberth's, without terms that another includes; the first of equals stays."""
    added = [[fact for fact in other.facts if not known.says(fact)] for other in possible]
    joined = [_join(known.term, other, more) for other, more in zip(possible, added, strict=True)]
    return [
        term
        for place, term in enumerate(joined)
        if not any(
            before != place
            and _includes((other, added[before]), (term, added[place]))
            and (before < place or not _includes((term, added[place]), (other, added[before])))
            for before, other in enumerate(joined)
        )
    ]


_Joined: TypeAlias = tuple[Mapping[str, Any], Sequence[Fact]]


def _includes(one: _Joined, other: _Joined) -> bool:
    """Tell whether ``one`` selects all nodes that ``other`` selects; both add facts to the same term."""
    (wide, added), (narrow, more) = one, other
    own = narrow.get("matchFields") or ()
    return all(each in own for each in wide.get("matchFields") or ()) and all(
        any(_implies(mine, fact) for mine in more) for fact in added
    )


def _join(term: Term, other: WantedTerm, more: Sequence[Fact]) -> dict[str, Any]:
    mine = expressions(term)
    joined = {**term}
    if mine or more:
        joined["matchExpressions"] = [*mine, *(fact.expression for fact in more)]
    fields = [*(term.get("matchFields") or ())]
    fields += [field for field in other.term.get("matchFields") or () if field not in fields]
    if fields:
        joined["matchFields"] = fields
    return joined


def _implies(one: Fact, other: Fact) -> bool:
    """Tell whether every node that satisfies ``one`` satisfies ``other``, judged by the two expressions alone."""
    if one.key != other.key:
        return False
    if other.operator == "Exists":
        return one.operator in _POSITIVE
    if one.operator == "In":
        return all(map(other.is_met_by, one.values))
    if other.operator == "NotIn":
        return one.operator == "DoesNotExist" or (one.operator == "NotIn" and all(map(one.has, other.values)))
    return bool(one.operator == other.operator and one.values == other.values)


def _excludes(one: Fact, other: Fact) -> bool:
    """Tell whether no value of the label, nor its absence, satisfies both."""
    if one.key != other.key:
        return False
    if "DoesNotExist" in (one.operator, other.operator):
        return one.operator in _POSITIVE or other.operator in _POSITIVE
    for either, against in ((one, other), (other, one)):
        if either.operator == "In":
            return against.operator != "Exists" and not any(map(against.is_met_by, either.values))
    return False


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
