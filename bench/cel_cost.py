"""Is what ``cel.cost`` says at least what is measured? ``python -m bench.cel_cost``.

Each line is an expression over the largest pod (``bench.hostile``), or one made to be expensive for it: the bound, the
time of the thread for an evaluation on a warm activation, in turns of the same run times the turn of the table
(``cel.prices``), and their ratio: never below a third. Where it is far above 1, an expression may be refused that would
do no harm; the price is of the worst pod and not of this one.

The last line is about what is charged for most: the engine copies a list that map() makes for each element, so eight
times the elements take far more than eight times as long. Where they do not, ``cel.cost`` charges too much.
"""

import sys
import time
from typing import Any

from node_builders import index_of, machines, need_of
from podberth.cel.engine import Environment, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.prices import TURN_MICROSECONDS
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema

from .figures import table
from .hostile import largest

_TEXT = "object.metadata.annotations['text']"
_LINE = "object.metadata.annotations['line']"
_EXPRESSIONS = (
    "object.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != 'FORBIDDEN'))",
    "object.spec.containers.exists(c, has(c.env) && c.env.exists(e, e.name.matches('^SECRET_.*')))",
    "object.spec.containers.exists(c, c.env.exists(e, e.value.contains('secret')))",
    "object.spec.containers.map(c, c.name + ' of ' + object.metadata.name).join(', ')",
    "object.spec.tolerations.all(t, t.key != 'nvidia.com/gpu' || t.operator == 'Exists')",
    "object.spec.tolerations.filter(t, t.key != 'a').size()",
    "object.spec.tolerations.map(t, t.key).size()",
    "object.spec.containers.all(c, c.env.map(e, e.name).size() > 0)",
    f"{_TEXT}.split(',').all(p, p.size() > 2)",
    f"{_TEXT}.split('').size()",
    f"{_TEXT}.replace('a', 'bb').size()",
    f"{_TEXT}.lowerAscii().indexOf('zz')",
    f"{_TEXT}.matches('(a|b)*c(d|e)*f')",
    f"({_TEXT} + {_TEXT}).size()",
    f"object.spec.containers.all(c, ({_TEXT} + c.name).size() > 0)",
    f"shell.commands(['sh', '-c', {_TEXT}]).size()",  # not read
    f"shell.commands(['sh', '-c', {_LINE}]).size()",
    f"shell.flag(shell.commands(['sh', '-c', {_LINE}])[0], ['--a', '-b'])",
    f"models.named({_LINE}.substring(0, 500)).millions",
    "object == oldObject",
)
_LEAST_GROWTH = 24
"""Without a copy it would be 8."""


def main() -> int:
    """Measure and print; 1 where a bound is below a third of what was measured."""
    environment = Environment(PodSchema.packaged())
    review = ReviewContext(index_of(machines("l4-1", 1)), need_of(1))
    pod = largest(0)
    # As long as a command line may be, and as many words.
    line = "70b-7b-1b- " * 510 + "a" * 2500
    texts = {"text": "ab," + "a" * 250_000, "line": line}
    text = dict(pod, metadata={**pod["metadata"], "annotations": texts})
    rows = []
    below = 0
    turn = environment.compile("lists.range(1000).all(i, i >= 0)", want=Want.BOOL)
    idle = environment.activation({}, review)
    pace = TURN_MICROSECONDS / min(_milliseconds(turn, idle) for _ in range(200))
    for source in _EXPRESSIONS:
        expression = environment.compile(source, want=Want.ANY)
        document: dict[str, Any] = text if "annotations" in source else pod
        activation = environment.activation({"object": document, "oldObject": document}, review)
        took = pace * min(_milliseconds(expression, activation) for _ in range(3))
        bound = expression.costs[""].with_result.microseconds / 1e3
        below += bound < took / 3
        rows.append((source[:70], f"{bound:,.1f}", f"{took:,.1f}", f"{bound / took:.1f}"))
    print(table(("expression", "bound ms", "measured ms", "ratio"), rows))
    growth = _growth_of_map(environment, review)
    print(f"map() over 8 times the elements takes {growth:.0f} times as long")
    return int(below > 0 or growth < _LEAST_GROWTH)


def _growth_of_map(environment: Environment, review: ReviewContext) -> float:
    expression = environment.compile("dyn(object).metadata.labels.map(k, k).size()", want=Want.ANY)
    few, many = (
        environment.activation({"object": {"metadata": {"labels": {f"k{at}": "v" for at in range(number)}}}}, review)
        for number in (1_000, 8_000)
    )
    return _milliseconds(expression, many) / min(_milliseconds(expression, few) for _ in range(5))


def _milliseconds(expression: Any, activation: Any) -> float:
    began = time.thread_time_ns()
    try:
        expression.evaluate(activation)
    except EvaluationError as error:
        print(f"{expression.source}: {error}", file=sys.stderr)
    return (time.thread_time_ns() - began) / 1e6


if __name__ == "__main__":
    sys.exit(main())
