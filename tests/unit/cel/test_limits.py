"""What this engine cannot do and does not tell: one test for each limit that podberth is built around.

docs/adr/0002-cel-engine.md lists them. One that fails after an upgrade of cel-expr-python says which part of podberth
may go.
"""

import threading
import time
from itertools import pairwise
from typing import Any

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3

from podberth.cel.engine import Activation, CompileError, Environment, Expression, Want
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


def test_the_interpreter_lock_is_kept_while_evaluating(environment: Environment, review: ReviewContext) -> None:
    """A second thread does not run once meanwhile; so more threads are no help, and one pod holds all."""
    activation = labelled(environment, review, 9_000)
    expression = environment.compile("dyn(object).metadata.labels.map(k, k).size()", want=Want.ANY)
    seen: list[float] = []
    running = threading.Event()
    done = threading.Event()

    def tick() -> None:
        running.set()
        while not done.is_set():
            seen.append(time.perf_counter())

    other = threading.Thread(target=tick)
    other.start()
    running.wait()
    began, used = time.perf_counter(), time.thread_time()
    assert expression.evaluate(activation) == 9_000
    used = time.thread_time() - used
    ended = time.perf_counter()
    done.set()
    other.join()
    # Before and after it may have had a turn, for as long as a busy machine likes; not while this thread computed.
    turns = [began, *(at for at in seen if began < at < ended), ended]
    assert used > 0.02
    assert max(later - earlier for earlier, later in pairwise(turns)) > 0.9 * used


def cpu_seconds(expression: Expression, activation: Activation) -> float:
    """Return what one evaluation takes of this thread's time; the least of several is that of an undisturbed one."""
    began = time.thread_time()
    expression.evaluate(activation)
    return time.thread_time() - began


def test_a_list_that_map_makes_is_copied_for_each_element(environment: Environment, review: ReviewContext) -> None:
    """What ``cel.cost`` charges most for: twice the elements take four times as long, not twice."""
    expression = environment.compile("dyn(object).metadata.labels.map(k, k).size()", want=Want.ANY)
    few, many = (labelled(environment, review, number) for number in (1_000, 8_000))
    small = min(cpu_seconds(expression, few) for _ in range(5))
    assert cpu_seconds(expression, many) > 24 * small


def test_nesting_has_an_end(environment: Environment) -> None:
    with pytest.raises(CompileError, match="nested too deeply"):
        environment.compile("1" + " + 1" * 40, want=Want.INT)
