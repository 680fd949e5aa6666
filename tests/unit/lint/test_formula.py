"""Statements that cannot be true together are reported; the search never says so of statements that can."""

import operator
from collections.abc import Callable, Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podberth.lint.formula import FALSE, TRUE, AllOf, Among, AnyOf, Compares, Formula, Holds, possible


@pytest.mark.parametrize(
    "formulas",
    [
        [FALSE],
        [Holds("a"), Holds("a", wanted=False)],
        [Compares("a", "==", 1), Compares("a", "==", 2)],
        [Compares("a", ">", 1), Compares("a", "<", 2)],
        [Compares("a", ">=", 0), Compares("a", "<=", 1), Compares("a", "!=", 0), Compares("a", "!=", 1)],
        [Among("a", frozenset({"x", "y"})), Compares("a", "!=", "x"), Compares("a", "!=", "y")],
        [AnyOf((Holds("a"), Holds("b"))), Holds("a", wanted=False), Holds("b", wanted=False)],
        [Among("a", frozenset({1, 2})), Compares("a", ">", 2)],
    ],
)
def test_what_excludes_itself_is_impossible(formulas: list[Formula]) -> None:
    assert not possible(*formulas)


@pytest.mark.parametrize(
    "formulas",
    [
        [TRUE],
        [Compares("a", ">", 1.0), Compares("a", "<", 2.0)],
        [Compares("a", "<", "x"), Compares("a", ">", "y")],
        [Compares("a", "==", 1), Compares("b", "==", 2)],
        [Compares("a", "!=", "x")],
    ],
)
def test_what_may_be_is_possible(formulas: list[Formula]) -> None:
    assert possible(*formulas)


_TERMS = ("a", "b")
_FACTS = st.one_of(
    st.builds(
        Compares, st.sampled_from(_TERMS), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.integers(-1, 3)
    ),
    st.builds(Among, st.sampled_from(_TERMS), st.frozensets(st.integers(-1, 3), max_size=3), st.booleans()),
)
_FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    _FACTS,
    lambda inner: st.one_of(
        st.builds(lambda parts: AllOf(tuple(parts)), st.lists(inner, max_size=3)),
        st.builds(lambda parts: AnyOf(tuple(parts)), st.lists(inner, max_size=3)),
    ),
    max_leaves=8,
)


_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(formula: Formula, values: dict[str, int]) -> bool:
    match formula:
        case AllOf():
            return all(holds(part, values) for part in formula.parts)
        case AnyOf():
            return any(holds(part, values) for part in formula.parts)
        case Among():
            return (values[str(formula.term)] in formula.values) is formula.wanted
        case Compares():
            assert isinstance(formula.value, int)
            return _COMPARED[formula.relation](values[str(formula.term)], formula.value)
        case _:
            raise AssertionError(formula)


@given(_FORMULAS)
def test_the_answer_is_that_of_trying_every_value(formula: Formula) -> None:
    tried = any(holds(formula, dict(zip(_TERMS, values, strict=True))) for values in product(range(-6, 9), repeat=2))

    assert possible(formula) == tried


def test_the_search_is_bounded_and_then_says_perhaps() -> None:
    pigeons = range(9)
    each_somewhere = [AnyOf(tuple(Holds((pigeon, hole)) for hole in range(8))) for pigeon in pigeons]
    none_together = [
        AnyOf((Holds((one, hole), wanted=False), Holds((two, hole), wanted=False)))
        for hole in range(8)
        for one in pigeons
        for two in pigeons
        if one < two
    ]

    assert possible(*each_somewhere, *none_together)
