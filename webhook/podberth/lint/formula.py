"""Logical formulas about unknown values, and a search for values that make several formulas true.

A formula is a fact about one term (the term is true, has a relation to a constant, or is one of several constants), or
several formulas joined by "all of" or "any of". A term stands for an unknown value; any hashable value may be a term.
The search is bounded: if it would take too long, the result is "possible". This module does not depend on CEL.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, Literal, TypeAlias

Constant: TypeAlias = bool | int | float | str | bytes
Relation: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

NEGATED: Final[Mapping[Relation, Relation]] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
MIRRORED: Final[Mapping[Relation, Relation]] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

MAX_STEPS: Final = 5_000
"""The most branches that the search tries. The longest condition of the shipped policies needs a few hundred."""
_MAX_RANGE: Final = 64
"""The longest range of whole numbers whose members the search tries one by one."""


@dataclass(frozen=True, slots=True)
class Holds:
    """The formula that a term (an unknown value) is true or, if ``wanted`` is False, that it is false."""

    term: Hashable
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Compares:
    """The formula that a term (an unknown value) has a relation to a constant, such as ``< 8``."""

    term: Hashable
    relation: Relation
    value: Constant


@dataclass(frozen=True, slots=True)
class Among:
    """The formula that a term equals one of several constants or, if ``wanted`` is False, equals none of them."""

    term: Hashable
    values: frozenset[Constant]
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class AllOf:
    """The formula that all formulas in ``parts`` are true; true if there are none."""

    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The formula that at least one formula in ``parts`` is true; false if there are none."""

    parts: tuple["Formula", ...]


Formula: TypeAlias = Holds | Compares | Among | AllOf | AnyOf

TRUE: Final = AllOf(())
FALSE: Final = AnyOf(())


def possible(*formulas: Formula) -> bool:
    """Return whether all formulas can be true together; also True if the search reaches its limit."""
    return _possible(formulas, {}, count(1))


@dataclass(frozen=True, slots=True)
class _Domain:
    """The values that a term (an unknown value) can have if all facts about it are true."""

    allowed: frozenset[Constant] | None = None
    excluded: frozenset[Constant] = field(default_factory=frozenset)
    low: int | float = float("-inf")
    high: int | float = float("inf")

    def empty(self) -> bool:
        if self.allowed is not None:
            return not any(self._fits(value) for value in self.allowed)
        if self.low > self.high:
            return True
        # A bound of type int means that the term is a whole number; only then can its values be tried one by one
        if isinstance(self.low, float) or isinstance(self.high, float) or self.high - self.low > _MAX_RANGE:
            return False
        return all(number in self.excluded for number in range(self.low, self.high + 1))

    def _fits(self, value: Constant) -> bool:
        if value in self.excluded:
            return False
        return isinstance(value, str | bytes) or self.low <= value <= self.high


def _possible(formulas: Iterable[Formula], known: Mapping[Hashable, bool | _Domain], steps: Iterator[int]) -> bool:
    if next(steps) > MAX_STEPS:
        return True
    waiting = list(formulas)
    facts = dict(known)
    choices: list[AnyOf] = []
    while waiting:
        formula = waiting.pop()
        match formula:
            case AllOf():
                waiting += formula.parts
            case AnyOf():
                choices.append(formula)
            case _:
                if not _learn(facts, formula):
                    return False
    if not choices:
        return True
    # The formula with the fewest alternatives comes first, because its facts may exclude alternatives of the others
    first = min(choices, key=lambda choice: len(choice.parts))
    rest = [choice for choice in choices if choice is not first]
    return any(_possible([*rest, part], facts, steps) for part in first.parts)


def _learn(facts: dict[Hashable, bool | _Domain], fact: Holds | Compares | Among) -> bool:
    """Add a fact about a term to ``facts``; return False if it contradicts the earlier facts about the term."""
    if isinstance(fact, Holds):
        key = ("holds", fact.term)
        known = facts.setdefault(key, fact.wanted)
        return known is fact.wanted
    domain = facts.get(fact.term, _Domain())
    assert isinstance(domain, _Domain)  # noqa: S101 - terms of Holds have a key of their own
    facts[fact.term] = narrowed = _narrowed(domain, fact)
    return not narrowed.empty()


def _narrowed(domain: _Domain, fact: Compares | Among) -> _Domain:  # noqa: PLR0911 - one for each relation
    if isinstance(fact, Among):
        if not fact.wanted:
            return replace(domain, excluded=domain.excluded | fact.values)
        allowed = fact.values if domain.allowed is None else domain.allowed & fact.values
        return replace(domain, allowed=allowed)
    value = fact.value
    if fact.relation == "==":
        return _narrowed(domain, Among(fact.term, frozenset({value})))
    if fact.relation == "!=":
        return replace(domain, excluded=domain.excluded | {value})
    if isinstance(value, str | bytes):  # the order of texts is not analysed
        return domain
    # A whole number has a next one; for other numbers the bound itself stays allowed
    step = 1 if isinstance(value, int) else 0
    match fact.relation:
        case "<":
            return replace(domain, high=min(domain.high, value - step))
        case "<=":
            return replace(domain, high=min(domain.high, value))
        case ">":
            return replace(domain, low=max(domain.low, value + step))
        case _:
            return replace(domain, low=max(domain.low, value))
