"""The bound of an expression is at least a third of the time that it takes, whichever functions it calls.

``bench.cel_random`` draws the expressions. Bound and time are in turns of the same run, time is that of the thread, and
the least of up to 15 tries counts. So a busy machine fails nothing: it would have to slow each of the tries, and none
of the turns between them.
"""

from random import Random

import pytest
from bench import clusters, decisions, price_cases
from bench.cel_random import Gauge, drawn

from podberth.cel.functions import FUNCTIONS, NODES_FIELDS
from podberth.cel.libraries import LIBRARIES
from podberth.cel.libraries.native import NATIVE
from podberth.cel.prices import WITHIN_MACROS
from properties import examples, thinned

MOST_MICROSECONDS = 60_000
"""The bound of an expression that a test can wait for."""
SEEDS = range(60)


@pytest.fixture(scope="module")
def gauge() -> Gauge:
    """500 nodes, no two of a class."""
    return Gauge(decisions.snapshot(clusters.documents(500, 500)).topology)


def test_every_function_is_called() -> None:
    called = {row.name for row in (*FUNCTIONS, *LIBRARIES, *NATIVE)} - WITHIN_MACROS.keys()
    assert price_cases.ALL.keys() == called | {f"Nodes.{name}" for name in NODES_FIELDS}


@pytest.mark.parametrize("name", thinned(sorted(price_cases.ALL)))
def test_a_call_has_a_bound_of_a_third_of_its_time_at_least(name: str, gauge: Gauge) -> None:
    draw = Random(name)  # noqa: S311 - no secret
    for _ in range(examples(1)):
        found = drawn(gauge, draw, name, MOST_MICROSECONDS)
        assert found is not None
        assert gauge.too_low(*found) == "", found[0].source


@pytest.mark.parametrize("seed", thinned(SEEDS))
def test_an_expression_of_several_functions_has_one(seed: int, gauge: Gauge) -> None:
    found = drawn(gauge, Random(seed), None, MOST_MICROSECONDS)  # noqa: S311 - no secret
    assert found is not None
    assert gauge.too_low(*found) == "", found[0].source
