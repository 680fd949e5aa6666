"""The bound of an expression is never below a third of what evaluating it takes on the largest pod.

Both are in turns (``cel.prices``), so the machine does not matter: the time of a turn is taken in the same run. Time is
that of the thread, the least of several tries; what seems to take too long is measured again before it counts, for a
neighbour on the same core can slow one measurement and not all of them.
"""

import time
from contextlib import suppress
from functools import cache
from typing import Any

from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from node_builders import index_of, machines, need_of
from podberth.cel.engine import Activation, CompileError, Environment, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.prices import TURN_MICROSECONDS
from podberth.errors import EvaluationError
from properties import examples
from snapshots import environment

_WORTH_SECONDS = 0.0005
"""What takes less is within the error of the clock and harms nobody."""
_MOST_MICROSECONDS = 400_000
"""The bound of an expression that a test can wait for."""

TEXTS = st.sampled_from(
    ("object.metadata.annotations['text']", "object.metadata.name", "object.metadata.annotations['line']", "'1g.6gb'")
)
SMALL = st.sampled_from(("x.name", "x.image", "object.metadata.name", "string(i)", "'lg.' + string(i) + 'gb'"))
LOOPS = (
    "object.spec.containers.{kind}(x, {predicate})",
    "object.spec.containers.{kind}(x, has(x.env) && x.env.{kind}(e, e.name != {small}))",
    "object.spec.tolerations.{kind}(x, x.key != {text})",
    "object.spec.tolerations.filter(x, x.key == 'a').size() >= 0",
    "object.spec.containers.map(x, {small}).{listed} >= 0",
)
CALLS = (
    "{small}.matches('(a|b)*c')",
    "{small}.contains('a')",
    "{small} + 'a' != ''",
    "{small}.lowerAscii().split('') != []",
    "{small}.replace('a', 'bb').size() > 0",
    "isURL({small})",
    "isQuantity({small})",
    "isSemver({small})",
    "isIP({small})",
    "mig.nearest({small}) != 'a'",
    "mig.suggestions({small}) != []",
    "mig.known({small})",
    "mig.parse({small}).exist",
    "mig.capacity({small}) >= 0",
    "topology.memoryMiB({small}) >= 0",
    "topology.offers({small})",
    "topology.nodes(gpu).withLinkDomain({small}.size()).terms != []",
    "models.named({small}).millions >= 0",
    "shell.flag([{small}], ['-a']) == ''",
    "[{small}, 'a', 'b'].distinct().size() > 0",
    "{small} in ['a', 'b', 'c']",
    "quantity('1Gi').add(quantity('1')).isLessThan(quantity('2Gi'))",
    "format.dns1123Label().validate({small}).hasValue()",
    "timestamp('2026-01-02T03:04:05Z').getHours('Europe/Berlin') > 0",
)
WHOLE = (
    "{text}.split(',').size() > 0",
    "{text}.findAll('a').size() > 0",
    "{text}.replace('a', 'b') != ''",
    "{text}.lowerAscii().trim().indexOf('zz') < 0",
    "({text} + {text}).size() > 0",
    "shell.commands([{text}]).size() >= 0",
    "shell.commands(['sh', '-c', {text}]).size() >= 0",
    "object == oldObject",
    "topology.nodes(gpu).preferredTerms != []",
)


@st.composite
def predicates(draw: st.DrawFn) -> str:
    one = draw(st.sampled_from(CALLS)).format(small=draw(SMALL))
    return draw(st.sampled_from(("{0}", "!({0})", "{0} || {1}", "({0} ? {1} : {0})"))).format(
        one, draw(st.sampled_from(CALLS)).format(small=draw(SMALL))
    )


@st.composite
def expressions(draw: st.DrawFn) -> str:
    kind, text, small = draw(st.sampled_from(("all", "exists", "exists_one"))), draw(TEXTS), draw(SMALL)
    listed = draw(st.sampled_from(("size()", "distinct().size()", "join(',').size()", "sort().size()")))
    ranged = f"lists.range({draw(st.integers(1, 3_000))})"
    template = draw(st.sampled_from((*LOOPS, *WHOLE, f"{ranged}.{{kind}}(i, {{predicate}})")))
    found = template.format(kind=kind, text=text, small=small, listed=listed, predicate=draw(predicates()))
    if "(i, " not in found and "string(i)" in found:
        found = f"[1].all(i, {found})"
    if "(x, " not in found and "x." in found.replace("exists", ""):
        found = f"object.spec.containers.all(x, {found})"
    return found


@cache
def activation(known: Environment) -> Activation:
    """Return the largest pod, with a text as long as annotations may be and a line as long as commands are read."""
    containers = [
        {"name": f"c{at}", "image": f"registry.example/i{at}", "env": [{"name": f"V{each}"} for each in range(45)]}
        for at in range(200)
    ]
    line = "serve --model 70b-7b " * 380
    pod: dict[str, Any] = {
        "metadata": {"name": "n" * 253, "annotations": {"text": "ab," * 83_000, "line": line}},
        "spec": {"containers": containers, "tolerations": [{"key": f"k{at}"} for at in range(5_000)]},
    }
    review = ReviewContext(index_of(machines("hgx-h100-8", 3), machines("l4-4", 4)), need_of(1))
    facts = {"gpu": {"count": 1, "perContainer": 1, "requests": []}}
    return known.activation({"object": pod, "oldObject": pod, **facts}, review)


def seconds(expression: Expression, tries: int) -> float:
    found = []
    for _ in range(tries):
        began = time.thread_time()
        with suppress(EvaluationError):  # what it took until then counts
            expression.evaluate(activation(environment()))
        found.append(time.thread_time() - began)
    return min(found)


@given(expressions())
@settings(
    max_examples=examples(150), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)
def test_the_bound_is_never_below_a_third_of_what_is_measured(source: str) -> None:
    try:
        expression = environment().compile(source, want=Want.BOOL)
    except CompileError:
        reject()
    bound = expression.costs[""].microseconds
    assume(bound < _MOST_MICROSECONDS)
    turn = environment().compile("lists.range(1000).all(i, i >= 0)", want=Want.BOOL)
    turns = bound_turns = 0.0
    for tries in (2, 5, 15):
        took = seconds(expression, tries)
        if took < _WORTH_SECONDS:
            return
        turns, bound_turns = took / (seconds(turn, tries) / 1_000), bound / TURN_MICROSECONDS
        if bound_turns > turns / 3:
            return
    raise AssertionError(f"bound {bound_turns:,.0f} turns, measured {turns:,.0f}: {source}")
