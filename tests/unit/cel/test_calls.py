"""Calls of Python functions leave nothing behind, whatever comes of them."""

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]

from podberth.cel.calls import Calls
from podberth.cel.libraries import LibraryError

_TIMES = 2000
# What an interpreter allocates meanwhile for itself.
_NOISE = 100


def _refuse(_: object, words: list[str], word: str) -> str:
    raise LibraryError(f"{len(words)} words, and no {word}")


CALLS: dict[str, Callable[..., Any]] = {
    "a text": lambda _, words, word: word + "".join(words),
    "a list": lambda _, words, word: [*words, word],
    "one of the operands": lambda _, words, __: words,
    "a map": lambda _, words, word: {word: words},
    "what many hold": lambda *_: True,
    "an error": _refuse,
}


def _evaluator(implementation: Any) -> Callable[[], Any]:
    overload = cel.Overload(
        "f_list_string", return_type=cel.Type.DYN, parameters=[cel.Type.LIST, cel.Type.STRING], impl=implementation
    )
    engine = cel.NewEnv(variables={"words": cel.Type.DYN}, functions=[cel.FunctionDecl("f", [overload])])
    program = engine.compile("f(words, 'some' + 'thing')")
    activation = engine.Activation({"words": ["one word", "another one"]})
    return lambda: program.eval(activation)


def _growth(evaluate: Callable[[], object]) -> int:
    """Return the blocks of memory that are held after many evaluations and were not before."""
    for _ in range(10):
        evaluate()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(_TIMES):
        evaluate()
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize("what", CALLS)
def test_nothing_is_left_of_a_call(what: str) -> None:
    calls = Calls()
    evaluate = _evaluator(calls.bind(CALLS[what], 2))

    def settled() -> None:
        evaluate()
        calls.settle()

    assert _growth(settled) < _NOISE


def test_without_that_the_engine_keeps_operands_and_results() -> None:
    """Where this fails, a newer engine has been fixed: ``Calls.settle`` and what serves it have had their day."""
    evaluate = _evaluator(lambda words, word: [*words, word])
    assert _growth(evaluate) >= 2 * _TIMES


def test_a_result_that_others_hold_stays_theirs() -> None:
    calls, shared = Calls(), ["what others hold"]
    evaluate = _evaluator(calls.bind(lambda *_: shared, 2))
    before = sys.getrefcount(shared)
    for _ in range(_TIMES):
        evaluate()
        calls.settle()
    assert sys.getrefcount(shared) == before


def test_operands_come_and_the_result_goes_whole() -> None:
    calls = Calls()
    value = _evaluator(calls.bind(lambda review, words, word: [str(review), *words, word], 2))()
    calls.settle()
    gc.collect()
    assert value.plain_value() == ["None", "one word", "another one", "something"]


def test_an_exception_that_is_a_bug_is_kept() -> None:
    calls = Calls()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    evaluate = _evaluator(calls.bind(broken, 2))
    assert evaluate().type() == cel.Type.ERROR
    assert isinstance(calls.fault, ZeroDivisionError)
