"""What this engine cannot do and does not report: one test for each limit that podberth is built around.

docs/adr/0002-cel-engine.md lists them. One that fails after an upgrade of cel-expr-python says which part of podberth
may go.
"""

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3

from controlplane.wait import wait_for
from podberth.cel.engine import Activation, CompileError, Environment, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.sizes import MAX_ITERATIONS
from podberth.errors import EvaluationError

OUT_OF_BUDGET = "out of budget: more than 10,000 iterations"


@pytest.fixture(scope="module")
def bare() -> Any:
    return cel.NewEnv(variables={"x": cel.Type.DYN})


def labelled(environment: Environment, review: ReviewContext, number: int) -> Activation:
    labels = {f"k{at}": "v" for at in range(number)}
    return environment.activation({"object": {"metadata": {"labels": labels}}}, review)


@pytest.mark.parametrize(("number", "fails"), [(MAX_ITERATIONS - 1, False), (MAX_ITERATIONS + 1, True)])
def test_one_evaluation_has_ten_thousand_iterations(
    environment: Environment, review: ReviewContext, number: int, fails: bool
) -> None:
    expression = environment.compile("object.metadata.labels.all(k, k != '')", want=Want.BOOL)
    if fails:
        with pytest.raises(EvaluationError, match=OUT_OF_BUDGET):
            expression.evaluate(labelled(environment, review, number))
    else:
        assert expression.evaluate(labelled(environment, review, number)) is True


def test_iterations_of_nested_loops_are_summed(environment: Environment, review: ReviewContext) -> None:
    source = "object.metadata.labels.all(k, object.metadata.labels.all(l, l != ''))"
    expression = environment.compile(source, want=Want.BOOL)
    assert expression.evaluate(labelled(environment, review, 90)) is True
    with pytest.raises(EvaluationError, match=OUT_OF_BUDGET):
        expression.evaluate(labelled(environment, review, 110))


def test_iterations_of_a_list_program_are_summed_and_a_batch_does_not_show_it(
    environment: Environment, review: ReviewContext
) -> None:
    one, two = (environment.compile(f"object.metadata.labels.all(k, k != '{at}')", want=Want.BOOL) for at in "ab")
    together = environment.compile(f"[{one.source}, {two.source}]", want=Want.ANY)
    activation = labelled(environment, review, 6_000)
    assert [one.evaluate(activation), two.evaluate(activation)] == [True, True]
    with pytest.raises(EvaluationError, match=OUT_OF_BUDGET):
        together.evaluate(activation)
    assert environment.batch([one, two]).evaluate(activation) == [True, True]


def test_an_error_is_a_value_whose_plain_form_is_a_true_text(
    bare: Any, environment: Environment, activation: Activation
) -> None:
    value = bare.compile("x.a").eval(bare.Activation({"x": {}}))
    assert value.type() == cel.Type.ERROR
    assert isinstance(value.plain_value(), str)
    assert bool(value.plain_value())
    with pytest.raises(EvaluationError, match="no such key: a"):
        environment.compile("dyn(object).a", want=Want.ANY).evaluate(activation)


def test_a_function_cannot_return_a_value_of_its_own_type() -> None:
    class Quantity:
        """A value that CEL does not have."""

    overload = cel.Overload("make", return_type=cel.Type.DYN, parameters=[], impl=Quantity)
    env = cel.NewEnv(functions=[cel.FunctionDecl("make", [overload])])
    with pytest.raises(RuntimeError, match="Non-CEL value type"):
        env.compile("make()").eval()


@pytest.fixture
def turns() -> Iterator[list[None]]:
    """Yield what another thread adds to whenever it gets the interpreter lock, which no thread has to give up."""
    seen: list[None] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            seen.append(None)
            time.sleep(0.001)  # gives the lock up, and waits for it again

    before = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    other = threading.Thread(target=tick)
    other.start()
    yield seen
    done.set()
    other.join()
    sys.setswitchinterval(before)


def test_the_interpreter_lock_is_kept_while_evaluating(
    environment: Environment, review: ReviewContext, turns: list[None]
) -> None:
    """A second thread does not run once meanwhile; so more threads are no help, and one pod holds all."""
    activation = labelled(environment, review, 3_000)
    expression = environment.compile("dyn(object).metadata.labels.map(k, k).size()", want=Want.ANY)
    before = len(turns)
    assert expression.evaluate(activation) == 3_000
    assert len(turns) == before
    # What gives the lock up is seen.
    wait_for(lambda: len(turns) > before, what="the other thread to have its turn")


def test_nesting_has_an_end(environment: Environment) -> None:
    with pytest.raises(CompileError, match="nested too deeply"):
        environment.compile("1" + " + 1" * 40, want=Want.INT)
