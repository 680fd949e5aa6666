"""Every function has a price that was measured; `python -m bench.cel_prices --write` measures them."""

import re
from math import isfinite
from pathlib import Path

import pytest

from podberth.cel import patterns
from podberth.cel.cost import MAX_MICROSECONDS
from podberth.cel.engine import Environment, Expression, Want
from podberth.cel.functions import FUNCTIONS, NODES_FIELDS
from podberth.cel.libraries import LIBRARIES
from podberth.cel.libraries.native import NATIVE
from podberth.cel.prices import OPERATIONS, PRICES, SAFETY, TURN_MICROSECONDS, TURNS, price_of

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
        "lists.range(1086).all(i, mig.nearest('lg.' + string(i) + 'gb') != 'a')",
        "object.spec.containers[0].env[0].value.findAll('a').size() > 0",
        "lists.range(9000).all(i, shell.flag(object.spec.containers[0].args, [string(i)]) == '')",
        # A class of Unicode, in many rounds and many times over.
        r"lists.range(300).all(i, string(i).matches('\\pL{1000}'))",
        r"lists.range(100).all(i, string(i).matches('[\\pL\\pN]'))",
        "lists.range(4).all(i, string(i).matches('" + r"\\pL" * 1000 + "'))",
        # A pattern that is not known before: of the pod, or put together.
        "''.matches(object.metadata.name)",
        r"lists.range(1000).all(i, 'x'.matches('(((\\w{30}){30})' + string(i) + ')'))",
        # A search that is at many places of a pattern at once.
        "object.metadata.annotations['a'].matches('(a|b)*a(a|b){20}c')",
        "object.metadata.annotations['a'].find('a(a|b){400}c') == ''",
        # Texts that are copied to be read, and what stands in a list.
        "lists.range(1000).all(i, int(object.metadata.annotations['a']) == i)",
        "lists.range(1000).all(i, duration(object.metadata.annotations['a']) == duration('1s'))",
        "lists.range(1000).all(i, timestamp(object.metadata.annotations['a']) > timestamp('2026-01-02T03:04:05Z'))",
        "lists.range(1000).all(i, quantity(object.metadata.annotations['a']).isInteger())",
        "lists.range(1000).all(i, '%s'.format([object.metadata.annotations['a']]) != '')",
        "lists.range(1000).map(i, object.metadata.annotations['a']).sort().size() > 0",
        # Lists and objects that are compared with each of a list.
        "lists.range(100).all(i, object.spec.tolerations in [object.spec.tolerations])",
        "lists.range(100).all(i, sets.contains([object.spec.tolerations], [object.spec.tolerations]))",
        "lists.range(100).all(i, [object.spec, oldObject.spec].distinct().size() == 1)",
        # What a function of ours is given is copied, however often the engine holds it once.
        "shell.flag(lists.range(1500).map(i, object.metadata.annotations['a']), ['-a']) == ''",
        "'%s'.format([[object, object, object]]) != ''",
        # Lists that are made without a loop.
        f"[{', '.join(['lists.range(10000)'] * 200)}].flatten().size() > 0",
    ],
)
def test_what_evaded_the_bound_does_not(environment: Environment, source: str) -> None:
    found = environment.compile(source, want=Want.BOOL).costs[""]
    assert found.microseconds > MAX_MICROSECONDS


def _named(environment: Environment, **variables: str) -> dict[str, Expression]:
    found: dict[str, Expression] = {}
    for name, source in variables.items():
        found[name] = environment.compile(source, want=Want.ANY, variables=found)
    return found


# All were within the bound: 2,000 pods took 15 s and 3.9 GiB, 300 of them 1 s and 570 MiB.
@pytest.mark.parametrize(
    ("source", "variables"),
    [
        ("lists.range(1000).map(i, object)", {}),
        ("lists.range(1500).map(i, object.metadata.annotations['a'])", {}),
        (f"[{', '.join(['object'] * 300)}]", {}),
        (
            f"[{', '.join(['variables.b'] * 60)}]",
            {"a": "object.metadata.annotations['a']", "b": f"[{', '.join(['variables.a'] * 60)}]"},
        ),
        ("{'a': object.spec.containers, 'b': object.spec, 'c': object.metadata, 'd': oldObject}", {}),
        ("variables.a + variables.a", {"a": "lists.range(10000) + lists.range(10000)"}),
    ],
)
def test_a_value_of_many_copies_is_charged_for_where_it_is_handed_over(
    environment: Environment, source: str, variables: dict[str, str]
) -> None:
    found = environment.compile(source, want=Want.ANY, variables=_named(environment, **variables)).costs[""]
    assert found.microseconds < MAX_MICROSECONDS / 2
    assert found.with_result.microseconds > MAX_MICROSECONDS / 10
    assert found.with_result.advice.startswith("all that the value refers to is copied")


@pytest.mark.parametrize(
    "source",
    [
        "object.spec.containers.map(c, {'name': c.name, 'image': c.image})",
        "object.metadata.labels",
        "object.spec.containers[0].args + object.spec.containers[0].command",
        "object.spec.containers.map(c, c.image).join(', ')",
    ],
)
def test_a_value_that_is_no_larger_than_the_pod_is_cheap_to_hand_over(environment: Environment, source: str) -> None:
    assert environment.compile(source, want=Want.ANY).costs[""].handed < MAX_MICROSECONDS / 10


@pytest.mark.parametrize(
    "source",
    [
        "lists.range(2000).all(i, topology.memoryMiB('NVIDIA-' + string(i)) == 0)",
        "lists.range(15).all(i, topology.nodes(gpu).withLinkDomain(i).preferredTerms.size() >= 0)",
        "object.metadata.annotations['a'].matches('^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$')",
        "object.spec.containers.all(c, c.image.matches('^registry[.]example/[a-z/]+:v[0-9]+$'))",
        "object.metadata.annotations['a'].matches('^[0-9]{1,9}(Gi|Mi)$')",
        "int(object.metadata.annotations['a']) > 0 && '%s'.format([object.metadata.annotations['a']]) != ''",
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
    names = environment.compile("['a/b', 'a/c'].filter(n, topology.nodes(gpu).anyOffers(n))", want=Want.ANY).costs[""]
    assert sum(names.remembered.values()) == sum(
        environment.compile("topology.nodes(gpu).anyOffers('a/b')", want=Want.BOOL).costs[""].remembered.values()
    )
    looped = environment.compile(
        "lists.range(900).all(i, topology.nodes(gpu).withLinkDomain(2).terms.size() > 0)", want=Want.BOOL
    ).costs[""]
    sizes = environment.compile(
        "lists.range(900).all(i, topology.nodes(gpu).withLinkDomain(i).terms.size() > 0)", want=Want.BOOL
    ).costs[""]
    assert sum(sizes.remembered.values()) > 2 * sum(looped.remembered.values())


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        ("a{1000}", 1000),
        ("[0-9]{1,6}Gi", 5 * 6 + 12 * 5 + 2),
        ("(ab){3}", 4 * 3),
        ("((ab){3}c){2}", (4 * 3 + 1 + 2) * 2),
        ("a{5,}", 5),
        ("a+", 2),
        ("(?i)ab", 4 + 2 * 8),
        (r"\pL{3}", 3 * 6_000),
        ("[^a].", 20 + 20),
    ],
)
def test_a_repetition_in_a_pattern_is_written_out(pattern: str, steps: int) -> None:
    assert patterns.read(pattern).steps == steps


@pytest.mark.parametrize(
    ("pattern", "bounded"),
    [
        ("^[0-9]{1,9}(Gi|Mi)$", True),
        ("^a*$", False),
        ("^a{2,}$", False),
        ("^a|b", False),
        ("a{2}$", False),
        ("^(a|b.)$", True),
        ("^(a|b+)$", False),
    ],
)
def test_only_what_has_to_fit_from_the_beginning_and_ends_is_looked_at_in_part(pattern: str, *, bounded: bool) -> None:
    assert isfinite(patterns.read(pattern).reach) == bounded


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a{3,1}",
        "[",
        "[]",
        "(?",
        "\\",
        "a{99999999999}",
        "a{" + "9" * 5_000 + "}",
        "(" * 900 + "a" + "){1000}" * 900,
        "*",
        "{2}",
        "\\pL{",
        "(?i",
        ")|(",
    ],
)
def test_of_a_wrong_pattern_something_is_read(pattern: str) -> None:
    assert patterns.read(pattern).steps >= 0


def test_a_number_in_a_pattern_that_is_longer_than_python_reads_is_no_fault(environment: Environment) -> None:
    found = environment.compile(f"object.metadata.name.matches('a{{{'9' * 4_500}}}')", want=Want.BOOL)
    assert found.costs[""].microseconds > 0
