"""Computes the maximum cost of an expression for the largest possible pod (docs/adr/0007-cost.md).

The expression is not evaluated: the cost follows from the checked tree, whose parts ``cel.pricing`` prices.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from . import ast
from .ast import Node
from .comparisons import Comparisons, most_places
from .prices import price_of
from .pricing import Meter
from .sizes import Bounds

MAX_MICROSECONDS = 100_000
"""The maximum time that all expressions of a policy together may occupy a worker. The apiserver aims at 1 s for the
whole request (sig-scalability, API call latency), and a worker serves 25 connections in turn."""

_RESULT_ADVICE = "all that the value refers to is copied, each time that it is named; make a smaller value"


@dataclass(frozen=True, slots=True)
class Cost:
    """The maximum cost of one evaluation of an expression, with the expression's most expensive part."""

    microseconds: float
    line: int = 1
    column: int = 1
    """The column, from 1, of the most expensive part in the source."""
    worst: float = 0.0
    advice: str = ""
    """Advice to the author on a cheaper way to write the most expensive part."""
    value: Bounds = field(default_factory=Bounds)
    """The maximum size of the value of the expression."""
    remembered: Mapping[str, float] = field(default_factory=dict)
    """The part of ``microseconds`` for results that are cached within a review, by query; these results are paid for
    only once in each review.
    """
    handed: float = 0.0
    """The microseconds for converting the value to Python.

    ``microseconds`` does not include this price, because a variable's value is never converted.
    """

    comparisons: Comparisons = field(default_factory=Comparisons)
    """The places of texts at which searches begin to compare; ``microseconds`` leaves them out."""

    @property
    def with_result(self) -> "Cost":
        """The cost of the expression plus the cost of converting the value to Python."""
        whole = replace(self, microseconds=self.microseconds + self.handed, handed=0.0)
        if self.handed <= self.worst:
            return whole
        return replace(whole, worst=self.handed, line=1, column=1, advice=_RESULT_ADVICE)


def total_of(costs: Iterable[Cost]) -> float:
    """Return the maximum total, in microseconds, of several expressions that are evaluated in one review."""
    total, known = 0.0, set[str]()
    for cost in costs:
        total += cost.microseconds - sum(price for asked, price in cost.remembered.items() if asked in known)
        known |= cost.remembered.keys()
    return total


def comparing(costs: Iterable[Cost]) -> float:
    """Return the maximum time of the searches in several expressions of a policy that their costs leave out, in us."""
    return price_of("begin").entry * most_places(each.comparisons for each in costs)


def cost_of(checked: Node, variables: Mapping[str, Bounds]) -> Cost:
    """Return the maximum cost of evaluating an expression once.

    ``variables`` has the bounds of the value of each ``variables.<name>``. The use of a variable costs nothing here:
    the variable is evaluated once for all expressions, and has a separate cost.
    """
    meter = Meter(checked, variables)
    value = meter.visit(checked.expr, 1, {})
    price, node, advice = meter.worst
    return Cost(
        meter.sum,
        *ast.position(checked, node),
        worst=price,
        advice=advice,
        value=value,
        remembered=meter.remembered,
        handed=meter.result_price(value),
        comparisons=meter.comparisons,
    )


def too_expensive(total: float, cost: Cost) -> str:
    """Return the message about a policy that costs ``total`` microseconds; ``cost`` has the most expensive part."""
    return (
        f"got up to {total / 1000:,.0f} ms for the largest pod, {cost.worst / 1000:,.0f} of them here, "
        f"want {MAX_MICROSECONDS // 1000} ms for the whole policy; {cost.advice}"
    )
