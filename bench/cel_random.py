"""Is the bound of random expressions at least a third of what is measured? ``python -m bench.cel_random [--seed 1]``.

Half of the expressions call one or two functions over the largest pod, alone or in loops. The others call every
function in turn, as the table of prices is measured with it (``bench.price_cases``), over 500 classes of nodes. So a
new function is among them. ``tests/property/test_cel_prices.py`` asks for few of either. Bound and time are in turns
(``cel.prices``), so the machine does not matter: the time of a turn is taken in the same run. Time is that of the
thread, the least of several tries; what seems to take too long is measured again before it counts, for a neighbour on
the same core can slow one measurement and not all of them. It prints each expression whose bound is too low, and exits
with 1 if there is one.
"""

import argparse
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, cycle
from random import Random
from typing import Any

from node_builders import need_of
from podberth.cel.engine import Activation, CompileError, Environment, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.prices import TURN_MICROSECONDS
from podberth.errors import EvaluationError
from podberth.kube.pod_limits import LARGEST
from podberth.kube.schema import PodSchema
from podberth.topology.index import TopologyIndex

from . import clusters, decisions, price_cases

_WORTH_SECONDS = 0.0005
"""What takes less is within the error of the clock and harms nobody."""
_MOST_MICROSECONDS = 400_000
"""The bound of an expression that a run can wait for."""

_DRAWN = 100
"""How many expressions are drawn for one within the bound."""
_SIZES_OF_TEXTS = (100, 60_000, 240_000, 240_000)
_TIMES = (2_500, 1_000, 400, 150, 60, 25, 10, 4, 2, 1)
_INPUT = re.compile(r"\b(TEXT|WORDS|NUMBERS|MAPS)\b")

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
    "topology.nodes(gpu).anyOffers({small})",
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


@dataclass(frozen=True, slots=True)
class Subject:
    """What an expression is about."""

    name: str = ""
    """The function that it calls; empty for several."""
    text: str = "ab," * 83_000
    """The pod's longest annotation."""
    words: tuple[str, ...] = ()
    """The arguments of its first container."""
    asks_the_index: bool = False
    """Whether each evaluation is to be the first of a review."""


class Gauge:
    """Compares the bounds of expressions with the times that they take."""

    def __init__(self, index: TopologyIndex) -> None:
        """Take the cluster's nodes; compile the turn."""
        self._environment = Environment(PodSchema.packaged())
        self._index = index
        self._fresh = (replace(need_of(1), memory_mib=number) for number in count(1))
        self._turn = self._environment.compile("lists.range(1000).all(i, i >= 0)", want=Want.BOOL)

    def expression(self, source: str, most_microseconds: float = _MOST_MICROSECONDS) -> Expression | None:
        """Return an expression; None if it does not compile, or if its bound is above ``most_microseconds``."""
        try:
            found = self._environment.compile(source, want=Want.BOOL)
        except CompileError:
            return None
        return found if found.costs[""].with_result.microseconds < most_microseconds else None

    def too_low(self, expression: Expression, subject: Subject) -> str:
        """Return bound and time of an expression whose bound is too low; empty for any other."""
        said = ""
        for tries in (2, 5, 15):
            took = self._seconds(expression, subject, tries)
            if took < _WORTH_SECONDS:
                return ""
            turns = took / (self._seconds(self._turn, Subject(), tries) / 1_000)
            bound = expression.costs[""].with_result.microseconds / TURN_MICROSECONDS
            if bound > turns / 3:
                return ""
            said = f"bound {bound:,.0f} turns, measured {turns:,.0f}"
        return said

    def _seconds(self, expression: Expression, subject: Subject, tries: int) -> float:
        found = []
        activation = self._activation(subject)
        for number in range(tries):
            if number and subject.asks_the_index:
                activation = self._activation(subject)
            began = time.thread_time()
            with suppress(EvaluationError):  # the time until the error counts
                expression.evaluate(activation)
            found.append(time.thread_time() - began)
        return min(found)

    def _activation(self, subject: Subject) -> Activation:
        """Return the largest pod of a review whose questions to the index nobody has asked before."""
        pod = {"object": _largest(subject), "oldObject": _largest(subject)}
        facts = {"gpu": {"count": 1, "perContainer": 1, "requests": []}, "gang": {"size": 4}}
        made = self._environment.activation({**pod, **facts}, ReviewContext(self._index, next(self._fresh)))
        # A review converts the pod once, for all expressions of all policies.
        self._environment.compile(
            "object.metadata.name == '' || oldObject.metadata.name == ''", want=Want.BOOL
        ).evaluate(made)
        return made


def main() -> int:
    """Measure as many expressions as were asked for; 1 where a bound is below a third of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="how many expressions are measured (400)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    given = parser.parse_args()
    draw = Random(given.seed)  # noqa: S311 - no secret
    gauge = Gauge(decisions.snapshot(clusters.documents(10_000, 500)).topology)
    too_low = 0
    names = cycle(sorted(price_cases.ALL))
    for number in range(given.count):
        found = drawn(gauge, draw, next(names) if number % 2 else None)
        if found is not None and (said := gauge.too_low(*found)):
            too_low += 1
            print(f"{said}: {found[0].source} ({found[1].name})")
    print(f"{given.count} expressions, {too_low} with a bound below a third of what was measured")
    return int(too_low > 0)


def drawn(
    gauge: Gauge, draw: Random, name: str | None = None, most_microseconds: float = _MOST_MICROSECONDS
) -> tuple[Expression, Subject] | None:
    """Return a random expression and the pod that it is about; None if each of many drawn is beyond the bound.

    If ``name`` is the name of a function, the expression calls it.
    """
    for _ in range(_DRAWN):
        sources, subject = ([_expression(draw)], Subject()) if name is None else _calls_of(name, draw)
        for source in sources:
            if (found := gauge.expression(source, most_microseconds)) is not None:
                return found, subject
    return None


def _calls_of(name: str, draw: Random) -> tuple[list[str], Subject]:
    """Return expressions that call a function in a loop, the longest first, and the worst pod for it."""
    case = draw.choice(price_cases.ALL[name])
    size = draw.choice(_SIZES_OF_TEXTS)
    inputs = {
        "TEXT": draw.choice((_TEXTS[0], _TEXTS[0], "object.metadata.name", "object.spec.containers[0].image")),
        "WORDS": "object.spec.containers[0].args",
        "NUMBERS": draw.choice(("lists.range(500)", "object.spec.containers.map(c, c.name.size())")),
        "MAPS": "object.spec.tolerations",
    }
    called = _INPUT.sub(lambda found: inputs[found.group()], case.source)
    subject = Subject(
        name=name,
        text=case.text(size),
        words=tuple(case.words(draw.choice((4, 500)))),
        asks_the_index=name in price_cases.OURS or name.startswith("Nodes."),
    )
    return [f"lists.range({times}).all(i, [{called}].size() > 0)" for times in _TIMES], subject


def _largest(subject: Subject) -> dict[str, Any]:
    """Return the largest pod, with a text as long as annotations may be and a line as long as commands are read."""
    containers: list[dict[str, Any]] = [
        {"name": f"c{at}", "image": f"registry.example/i{at}", "env": [{"name": f"V{each}"} for each in range(45)]}
        for at in range(200)
    ]
    containers[0]["args"] = list(subject.words)
    line = "serve --model 70b-7b " * 380
    tolerations = [{"key": f"k{at}"} for at in range(LARGEST["spec", "tolerations"])]
    return {
        "metadata": {"name": "n" * 253, "annotations": {"text": subject.text, "line": line}},
        "spec": {"containers": containers, "tolerations": tolerations},
    }


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
