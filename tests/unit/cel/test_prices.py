"""Every function has a price that was measured; `python -m bench.cel_prices --write` measures them."""

import re
from pathlib import Path

import pytest

from podberth.cel.cost import MAX_MICROSECONDS
from podberth.cel.engine import Environment, Want
from podberth.cel.functions import FUNCTIONS, NODES_FIELDS
from podberth.cel.libraries import LIBRARIES
from podberth.cel.libraries.native import NATIVE
from podberth.cel.price_table import TURNS
from podberth.cel.prices import OPERATIONS, PRICES, SAFETY, TURN_MICROSECONDS, price_of

CALLED = (
    {row.name for row in FUNCTIONS}
    | {row.name for row in (*LIBRARIES, *NATIVE)}
    | {f"Nodes.{name}" for name in NODES_FIELDS}
)
CASES = (Path(__file__).parents[3] / "bench" / "price_cases.py").read_text(encoding="utf-8")


def test_every_function_has_a_price_and_nothing_else_has_one() -> None:
    assert PRICES.keys() == CALLED | OPERATIONS.keys()


def test_a_price_is_of_turns_and_a_little_more() -> None:
    call, _, _, first = TURNS["nearest"]
    price = price_of("nearest")
    assert price.call == pytest.approx(call * TURN_MICROSECONDS * SAFETY)
    assert price.first == pytest.approx(first * TURN_MICROSECONDS * SAFETY)


def test_what_has_not_been_measured_has_the_highest_price() -> None:
    unknown = price_of("a function that somebody has just added")
    assert unknown.call == max(each.call for each in PRICES.values())
    assert unknown.byte == max(each.byte for each in PRICES.values())


def test_every_function_of_ours_is_called_by_a_case() -> None:
    assert {row.name for row in FUNCTIONS} <= set(re.findall(r'^    "(\w+)": ', CASES, re.MULTILINE))


@pytest.mark.parametrize(
    "source",
    [
        # Each was within the bound and took 200 ms to 20 s of a worker.
        "lists.range(5000).all(i, mig.nearest(string(i) + 'g.5gb') != '')",
        "lists.range(5000).all(i, mig.suggestions(string(i) + 'g.5gb').size() >= 0)",
        "object.spec.containers[0].env[0].value.findAll('a').size() > 0",
        "lists.range(9000).all(i, shell.flag(object.spec.containers[0].args, [string(i)]) == '')",
    ],
)
def test_what_evaded_the_bound_does_not(environment: Environment, source: str) -> None:
    found = environment.compile(source, want=Want.BOOL).costs[""]
    assert found.microseconds > MAX_MICROSECONDS


@pytest.mark.parametrize(
    "source",
    [
        "lists.range(2000).all(i, topology.memoryMiB('NVIDIA-' + string(i)) == 0)",
        "lists.range(15).all(i, topology.nodes(gpu).withLinkDomain(i).preferredTerms.size() >= 0)",
    ],
)
def test_what_is_cheap_now_is_within_it(environment: Environment, source: str) -> None:
    assert environment.compile(source, want=Want.BOOL).costs[""].microseconds < MAX_MICROSECONDS


def test_an_answer_that_a_review_remembers_is_charged_for_once(environment: Environment) -> None:
    once = environment.compile("topology.nodes(gpu).terms", want=Want.ANY).costs[""]
    twice = environment.compile("topology.nodes(gpu).terms + topology.nodes(gpu).preferredTerms", want=Want.ANY).costs[
        ""
    ]
    assert twice.microseconds < 2.5 * once.microseconds
    assert twice.remembered.keys() == once.remembered.keys()
    looped = environment.compile(
        "lists.range(900).all(i, topology.nodes(gpu).withLinkDomain(2).terms.size() > 0)", want=Want.BOOL
    ).costs[""]
    sizes = environment.compile(
        "lists.range(900).all(i, topology.nodes(gpu).withLinkDomain(i).terms.size() > 0)", want=Want.BOOL
    ).costs[""]
    assert sum(sizes.remembered.values()) > 2 * sum(looped.remembered.values())


@pytest.mark.parametrize(
    ("pattern", "bytes_written"),
    [("a{1000}", 1 + 1000), ("[0-9]{1,6}Gi", 5 + 5 * 6 + 2), ("(ab){3}", 4 + 4 * 3), ("a{5,}", 1 + 5), ("a+", 2)],
)
def test_a_repetition_in_a_pattern_is_written_out(environment: Environment, pattern: str, bytes_written: int) -> None:
    found = environment.compile(f"object.metadata.name.matches('{pattern}')", want=Want.BOOL).costs[""]
    plain = environment.compile("object.metadata.name.matches('')", want=Want.BOOL).costs[""]
    written = (found.microseconds - plain.microseconds) / price_of("pattern").entry
    assert written == pytest.approx(bytes_written, abs=1.5)
