"""Is the bound of random expressions at least a third of what is measured? ``python -m bench.cel_random [--seed 1]``.

Each expression calls one or two functions over the largest pod, alone or in loops. Bound and time are in turns
(``cel.prices``), so the machine does not matter: the time of a turn is taken in the same run. Time is that of the
thread, the least of several tries; what seems to take too long is measured again before it counts, for a neighbour on
the same core can slow one measurement and not all of them. It prints each expression whose bound is too low, and exits
with 1 if there is one.
"""

import argparse
import sys
import time
from contextlib import suppress
from random import Random
from typing import Any

from node_builders import index_of, machines, need_of
from podberth.cel.engine import Activation, CompileError, Environment, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.prices import TURN_MICROSECONDS
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema

_WORTH_SECONDS = 0.0005
"""What takes less is within the error of the clock and harms nobody."""
_MOST_MICROSECONDS = 400_000
"""The bound of an expression that a run can wait for."""

_TEXTS = (
    "object.metadata.annotations['text']",
    "object.metadata.name",
    "object.metadata.annotations['line']",
    "'1g.6gb'",
)
_SMALL = ("x.name", "x.image", "object.metadata.name", "string(i)", "'lg.' + string(i) + 'gb'")
_LOOPS = (
    "object.spec.containers.{kind}(x, {predicate})",
    "object.spec.containers.{kind}(x, has(x.env) && x.env.{kind}(e, e.name != {small}))",
    "object.spec.tolerations.{kind}(x, x.key != {text})",
    "object.spec.tolerations.filter(x, x.key == 'a').size() >= 0",
    "object.spec.containers.map(x, {small}).{listed} >= 0",
)
_CALLS = (
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
    "[{small}].exists(t, t.size() <= 8 && t.matches('^(a|b)*c$'))",
    "[{small}].all(t, t.size() > 3 || isQuantity(t))",
    "[{small}].exists(t, t.matches('^[a-z]{{1,9}}$') ? t.split('').size() > 20 : t.endsWith('b'))",
    "[[{small}], ['a']] in [[['a'], ['a']], [['b'], ['a']]]",
    "quantity('1Gi').add(quantity('1')).isLessThan(quantity('2Gi'))",
    "format.dns1123Label().validate({small}).hasValue()",
    "timestamp('2026-01-02T03:04:05Z').getHours('Europe/Berlin') > 0",
)
_WHOLE = (
    "{text}.split(',').size() > 0",
    "{text}.findAll('a').size() > 0",
    "{text}.replace('a', 'b') != ''",
    "{text}.lowerAscii().trim().indexOf('zz') < 0",
    "({text} + {text}).size() > 0",
    "shell.commands([{text}]).size() >= 0",
    "shell.commands(['sh', '-c', {text}]).size() >= 0",
    "object == oldObject",
    "oldObject in [object]",
    "sets.contains([object.spec, object], [oldObject.spec])",
    "[{text}].all(t, t.size() < 100 || t.split(',').size() > 0)",
    "[{text}].exists(t, t.size() < 100 ? t.contains(t) : t.split(',').size() > 0)",
    "topology.nodes(gpu).preferredTerms != []",
)
_SIZES = ("size()", "distinct().size()", "join(',').size()", "sort().size()")


def main() -> int:
    """Measure as many expressions as were asked for; 1 where a bound is below a third of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=150, help="how many expressions are measured (150)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    given = parser.parse_args()
    draw, environment = Random(given.seed), Environment(PodSchema.packaged())  # noqa: S311 - no secret
    activation, measured, too_low = _largest(environment), 0, 0
    turn = environment.compile("lists.range(1000).all(i, i >= 0)", want=Want.BOOL)
    while measured < given.count:
        source = _expression(draw)
        try:
            expression = environment.compile(source, want=Want.BOOL)
        except CompileError:
            continue
        if expression.costs[""].with_result.microseconds >= _MOST_MICROSECONDS:
            continue
        measured += 1
        if found := _too_low(expression, turn, activation):
            too_low += 1
            print(f"{found}: {source}")
    print(f"{measured} expressions, {too_low} with a bound below a third of what was measured")
    return int(too_low > 0)


def _too_low(expression: Expression, turn: Expression, activation: Activation) -> str:
    """Return bound and time of an expression whose bound is too low; empty for any other."""
    said = ""
    for tries in (2, 5, 15):
        took = _seconds(expression, activation, tries)
        if took < _WORTH_SECONDS:
            return ""
        turns = took / (_seconds(turn, activation, tries) / 1_000)
        bound = expression.costs[""].with_result.microseconds / TURN_MICROSECONDS
        if bound > turns / 3:
            return ""
        said = f"bound {bound:,.0f} turns, measured {turns:,.0f}"
    return said


def _seconds(expression: Expression, activation: Activation, tries: int) -> float:
    found = []
    for _ in range(tries):
        began = time.thread_time()
        with suppress(EvaluationError):  # the time until the error counts
            expression.evaluate(activation)
        found.append(time.thread_time() - began)
    return min(found)


def _largest(environment: Environment) -> Activation:
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
    return environment.activation({"object": pod, "oldObject": pod, **facts}, review)


def _expression(draw: Random) -> str:
    kind, text, small = draw.choice(("all", "exists", "exists_one")), draw.choice(_TEXTS), draw.choice(_SMALL)
    ranged = f"lists.range({draw.randint(1, 3_000)})"
    template = draw.choice((*_LOOPS, *_WHOLE, f"{ranged}.{{kind}}(i, {{predicate}})"))
    found = template.format(kind=kind, text=text, small=small, listed=draw.choice(_SIZES), predicate=_predicate(draw))
    if "(i, " not in found and "string(i)" in found:
        found = f"[1].all(i, {found})"
    if "(x, " not in found and "x." in found.replace("exists", ""):
        found = f"object.spec.containers.all(x, {found})"
    return found


def _predicate(draw: Random) -> str:
    one, other = (draw.choice(_CALLS).format(small=draw.choice(_SMALL)) for _ in range(2))
    return draw.choice(("{0}", "!({0})", "{0} || {1}", "({0} ? {1} : {0})")).format(one, other)


if __name__ == "__main__":
    sys.exit(main())
