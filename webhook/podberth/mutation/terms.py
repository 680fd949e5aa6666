"""Compares node selector terms: implication, contradiction, and the intersection of two lists of terms.

A term is a conjunction of expressions, and a list of terms is a disjunction (core/v1 NodeSelector). Results depend on
the expressions alone, not on the known nodes or their labels.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, islice
from typing import Any, TypeAlias

from ..devices.gpu_models import MODEL_LABELS, model_of
from ..kube.selector import integer

Term: TypeAlias = Mapping[str, Any]
"""A NodeSelectorTerm: ``{"matchExpressions": [...], "matchFields": [...]}``; both keys are optional."""

_MOST_MODELS = 8
"""The maximum number of values of an expression whose GPU models are read (``Fact.models``)."""
_POSITIVE = ("In", "Exists", "Gt", "Lt")
"""The operators that never match a node without the label."""


def expressions(term: Term) -> list[dict[str, Any]]:
    """Return the field ``matchExpressions`` of a term; empty if the field is absent or null."""
    return list(term.get("matchExpressions") or ())


def is_empty(term: Term) -> bool:
    """Return whether the term has no requirement at all; a term without requirements selects no node."""
    return not term.get("matchExpressions") and not term.get("matchFields")


class Fact:
    """A node selector expression, with the values in a set for fast look-ups."""

    def __init__(self, expression: Mapping[str, Any]) -> None:
        self.expression = expression
        self.key: str | None = expression.get("key")
        self.operator: str | None = expression.get("operator")
        self.values: Sequence[str] = expression.get("values") or []

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.values)

    def has(self, value: str) -> bool:
        """Return whether the node selector expression lists the value; fast even among thousands of values."""
        return value in self._known

    @cached_property
    def models(self) -> frozenset[str]:
        """The GPU models that the expression selects; empty if the models are unknown or too many."""
        if self.operator != "In" or self.key is None or len(self.values) > _MOST_MODELS:
            return frozenset()
        found = frozenset(model_of(self.key, value) for value in self.values)
        return found if all(found) else frozenset()

    def is_met_by(self, value: str) -> bool:
        """Return whether a label with the value ``value`` satisfies the expression.

        False for operators other than In, NotIn, Gt and Lt: callers decide Exists and DoesNotExist themselves.
        """
        if self.operator in ("In", "NotIn"):
            return self.has(value) == (self.operator == "In")
        number = integer(value)
        if self.bound is None or number is None:
            return False
        return number > self.bound if self.operator == "Gt" else number < self.bound

    @cached_property
    def bound(self) -> int | None:
        """The number that Gt or Lt compares a label with; None for another operator, or if the value is no integer."""
        return integer(self.values[0]) if self.operator in ("Gt", "Lt") and len(self.values) == 1 else None


class KnownTerm:
    """A user's term together with the pod's nodeSelector: the expressions that a node must satisfy, by label key.

    A term may have a thousand expressions, and is compared with each of podberth's terms. So an expression is compared
    only with expressions about its own label key. If the key names GPU models, the expression is also compared with
    expressions about other labels that name GPU models. Each result is cached.
    """

    def __init__(self, term: Term, selector: Mapping[str, str] | None = None) -> None:
        self.term = term
        self._selector = selector or {}
        self._by_key: dict[Any, list[Fact]] = {}
        for each in term.get("matchExpressions") or ():
            self._by_key.setdefault(each.get("key"), []).append(Fact(each))
        # The results of ``says`` by the id() of a fact. The fact is kept, too, so that no other object gets its id.
        self._implied: dict[int, tuple[Fact, bool]] = {}

    def about(self, key: Any) -> list[Fact]:
        """Return the expressions about the label ``key``: first those of the term, then those of the nodeSelector."""
        own = self._by_key.get(key, [])
        if key not in self._selector:
            return own
        return [*own, Fact({"key": key, "operator": "In", "values": [self._selector[key]]})]

    def of_models(self, key: Any) -> list[Fact]:
        """Return the expressions about GPU model labels other than ``key``; empty if ``key`` is no GPU model label."""
        return [fact for fact in self._naming if fact.key != key] if key in MODEL_LABELS else []

    @cached_property
    def _naming(self) -> list[Fact]:
        """The expressions about labels that name the GPU model."""
        labels = MODEL_LABELS.keys() & (self._by_key.keys() | self._selector.keys())
        return [fact for each in sorted(labels) for fact in self.about(each)]

    def says(self, fact: Fact) -> bool:
        """Return whether an expression of the term, or of the nodeSelector, implies ``fact``."""
        found = self._implied.get(id(fact))
        if found is None:
            found = self._implied[id(fact)] = (fact, any(_implies(mine, fact) for mine in self.about(fact.key)))
        return found[1]

    def implies(self, other: "WantedTerm") -> bool:
        """Return whether every node that matches the term also matches ``other``; False if ``other`` is empty."""
        own = self.term.get("matchFields") or ()
        if is_empty(other.term) or any(each not in own for each in other.term.get("matchFields") or ()):
            return False
        return all(map(self.says, other.facts))

    def contradiction(self, other: "WantedTerm") -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
        """Return a contradicting pair (expression of ``other``, expression of this term); None if there is none."""
        return next(
            (
                (wanted.expression, mine.expression)
                for wanted in other.facts
                for mine in (*self.about(wanted.key), *self.of_models(wanted.key))
                if _excludes(wanted, mine)
            ),
            None,
        )

    def own_contradiction(self, most: int) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
        """Return two expressions of the term and the nodeSelector that no node satisfies together; None if none are.

        At most ``most`` pairs of expressions are compared.
        """
        facts = [self.about(key) for key in dict.fromkeys((*self._by_key, *self._selector))]
        of_label = (pair for about in facts for pair in combinations(about, 2))
        of_models = combinations(self._naming, 2)
        found = (pair for pair in islice(chain(of_label, of_models), most) if _excludes(*pair))
        return next(((other.expression, one.expression) for one, other in found), None)


class WantedTerm:
    """A nodeSelectorTerm that podberth wants to write, parsed for comparison with the user's terms."""

    def __init__(self, term: Term) -> None:
        self.term = term
        self.facts = [Fact(each) for each in term.get("matchExpressions") or ()]


def product(users: Iterable[KnownTerm], ours: Sequence[WantedTerm], most: int) -> list[dict[str, Any]]:
    """Return the terms that select exactly the nodes that both the user's terms and ``ours`` select.

    Each user's term is joined with each term of ``ours`` that does not contradict it, except:

    - A user's term that implies a term of ``ours``, and an empty term, which selects no node, stay unchanged.
    - A joined term is left out if another joined term selects all nodes that the first selects.
    - If a user's term contradicts all of ``ours``, it is joined with the first of them: the result selects no node, but
      keeps the user's expressions.

    The caller refuses a result of more than ``most`` terms, unless all of them are the user's own. So the function
    returns early if the result has more terms than ``most``, and one of them is a joined term. The order of a term's
    keys is kept.
    """
    result: list[dict[str, Any]] = []
    is_joined = False
    for known in users:
        if is_joined and len(result) > most:
            break
        if is_empty(known.term) or any(map(known.implies, ours)):
            result.append(dict(known.term))
            continue
        possible = [other for other in ours if known.contradiction(other) is None] or ours[:1]
        result += _widest(known, possible)
        is_joined = True
    return result


def _widest(known: KnownTerm, possible: Sequence[WantedTerm]) -> list[dict[str, Any]]:
    """Return the user's term joined with each possible term of podberth.

    A joined term is left out if another joined term selects all nodes that the first selects.
    """
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
    """Return whether the term ``one`` selects all nodes that the term ``other`` selects.

    Each is a pair (a user's term, the expressions that were added to it).
    """
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
    """Return whether every node that satisfies ``one`` satisfies ``other``, judged by the two expressions alone."""
    if one.key != other.key:
        return False
    if other.operator == "Exists":
        return one.operator in _POSITIVE
    if one.operator == "In":
        return all(map(other.is_met_by, one.values))
    if one.bound is not None:
        return _is_within(one, one.bound, other)
    if other.operator == "NotIn":
        return one.operator == "DoesNotExist" or (one.operator == "NotIn" and all(map(one.has, other.values)))
    return bool(one.operator == other.operator and one.values == other.values)


def _is_within(one: Fact, bound: int, other: Fact) -> bool:
    """Return whether every number beyond the bound of ``one``, which is Gt or Lt, satisfies ``other``."""
    if other.operator == "NotIn":
        return bool(other.values) and not any(map(one.is_met_by, other.values))
    if one.operator != other.operator or other.bound is None:
        return False
    return bound >= other.bound if one.operator == "Gt" else bound <= other.bound


def _excludes(one: Fact, other: Fact) -> bool:
    """Return whether no node satisfies both ``one`` and ``other``, node selector expressions.

    All labels of a node that name a GPU model are assumed to name one model.
    """
    if one.key != other.key:
        ours, theirs = one.models, other.models
        return bool(ours and theirs) and ours.isdisjoint(theirs)
    if "DoesNotExist" in (one.operator, other.operator):
        return one.operator in _POSITIVE or other.operator in _POSITIVE
    for either, against in ((one, other), (other, one)):
        if either.operator == "In":
            return against.operator != "Exists" and not any(map(against.is_met_by, either.values))
        if either.operator == "Gt" and against.operator == "Lt":
            least, most = either.bound, against.bound
            return least is not None and most is not None and most - least <= 1  # no integer is between them
    return False
