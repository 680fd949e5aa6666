"""Sorts CEL expressions into three classes of cost, by their maximum time (``cel.cost``)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..cel.cost import MAX_MICROSECONDS, Cost
from ..errors import Problem
from ..kube.paths import Path
from .findings import Library, Linted

CostClass: TypeAlias = Literal["cheap", "moderate", "expensive"]

CHEAP_BELOW: Final = 1_000
"""The upper limit of the class ``cheap`` in microseconds: a hundredth of a policy's limit. Most expressions take less
than one microsecond."""
EXPENSIVE_FROM: Final = MAX_MICROSECONDS // 2
"""The lower limit of the most expensive class in microseconds; two expressions of this class exceed a policy's limit.
"""


@dataclass(frozen=True, slots=True)
class ExpressionCost:
    """The cost of one CEL expression for the largest pod, without the cost of the variables in the expression."""

    policy: Linted
    path: Path
    cost: Cost

    @property
    def cost_class(self) -> CostClass:
        """The class of the expression's cost."""
        if self.cost.microseconds < CHEAP_BELOW:
            return "cheap"
        return "moderate" if self.cost.microseconds < EXPENSIVE_FROM else "expensive"


def costs_of(policy: Linted) -> Iterator[ExpressionCost]:
    """Yield the cost of each expression of a policy.

    An expression that is just a scalar field of the variable ``gpu`` or ``gang`` is left out: it is read without CEL.
    """
    for placed in policy.expressions:
        if placed.expression is not None:  # else a scalar of gpu or gang: it is never evaluated
            yield ExpressionCost(policy, placed.path, placed.expression.costs[""])


def problems_of(library: Library, cost_class: CostClass) -> Iterator[Problem]:
    """Yield a problem for each expression of a cost class, at the most expensive part of the expression."""
    for policy in library.policies:
        for each in costs_of(policy):
            if each.cost_class == cost_class:
                advice = f"; {each.cost.advice}" if each.cost.advice else ""
                message = f"up to {each.cost.microseconds / 1000:,.0f} ms for the largest pod{advice}"
                yield policy.parsed.problem(each.path, message, each.cost.line, each.cost.column)
