"""The most that an expression costs, computed from its checked tree for the largest pod (docs/adr/0007-cost.md).

Nothing is evaluated; ``cel.meter`` charges for the parts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from . import ast
from .ast import Node
from .meter import Meter
from .sizes import Bounds

MAX_MICROSECONDS = 100_000
"""The time that a policy may take of a worker, all its expressions together: the apiserver aims at 1 s for the whole
request (sig-scalability, API call latency), and a worker answers 25 connections in turn."""

_RESULT_ADVICE = "all that the value refers to is copied, each time that it is named; make a smaller value"


@dataclass(frozen=True, slots=True)
class Cost:
    """The most that one evaluation takes, and its most expensive part."""

    microseconds: float
    line: int = 1
    column: int = 1
    """The column of the most expensive part in the source, from 1."""
    worst: float = 0.0
    advice: str = ""
    """A cheaper way to write the most expensive part."""
    value: Bounds = field(default_factory=Bounds)
    """The largest size of its value."""
    remembered: Mapping[str, float] = field(default_factory=dict)
    """The part of the microseconds for answers that the review remembers, by question: paid once for each review."""
    handed: float = 0.0
    """Microseconds that are not among these: handing the value to Python. A variable's value stays in the engine."""

    @property
    def with_result(self) -> "Cost":
        """The same with the price of handing over the value."""
        whole = replace(self, microseconds=self.microseconds + self.handed, handed=0.0)
        if self.handed <= self.worst:
            return whole
        return replace(whole, worst=self.handed, line=1, column=1, advice=_RESULT_ADVICE)


def total_of(costs: Iterable[Cost]) -> float:
    """Return the most that several expressions of one review take, together."""
    total, known = 0.0, set[str]()
    for cost in costs:
        total += cost.microseconds - sum(price for asked, price in cost.remembered.items() if asked in known)
        known |= cost.remembered.keys()
    return total


def cost_of(checked: Node, variables: Mapping[str, Bounds]) -> Cost:
    """Return the cost of evaluating a checked expression.

    ``variables`` are bounds of ``variables.<name>``. Naming one costs nothing here: it is evaluated once, for all
    expressions that name it, and has its own cost.
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
    )


def too_expensive(total: float, cost: Cost) -> str:
    """Return the message for a policy that costs ``total`` microseconds, with ``cost``'s most expensive part."""
    return (
        f"got up to {total / 1000:,.0f} ms for the largest pod, {cost.worst / 1000:,.0f} of them here, "
        f"want {MAX_MICROSECONDS // 1000} ms for the whole policy; {cost.advice}"
    )
