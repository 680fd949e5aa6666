"""The cost class of each expression: the bound of ``cel.cost`` in three classes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..cel.cost import MAX_MICROSECONDS
from ..errors import Problem
from ..kube.positions import Path
from .model import Library, Linted

CostClass: TypeAlias = Literal["cheap", "moderate", "dear"]

CHEAP_BELOW: Final = 1_000
"""Microseconds: a hundredth of a policy's limit. Most expressions take less than one microsecond."""
EXPENSIVE_FROM: Final = MAX_MICROSECONDS // 2
"""In microseconds: two expressions of this cost exceed the limit of a policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCost:
    """The most that one expression takes, on the largest pod; the variables that it names are priced separately."""

    policy: Linted
    path: Path
    microseconds: float
    line: int
    column: int
    """The column of its most expensive part, from 1."""
    advice: str
    """A cheaper way to write that part; empty where no part is expensive."""

    @property
    def cost_class(self) -> CostClass:
        """The class of the cost."""
        if self.microseconds < CHEAP_BELOW:
            return "cheap"
        return "moderate" if self.microseconds < EXPENSIVE_FROM else "dear"


def costs_of(policy: Linted) -> Iterator[ExpressionCost]:
    """Yield the cost of each expression of a policy."""
    for placed in policy.expressions:
        if placed.bound is None:  # a scalar of gpu or gang: it is never evaluated
            continue
        cost = placed.bound.expression.costs[""]
        yield ExpressionCost(
            policy=policy,
            path=placed.path,
            microseconds=cost.microseconds,
            line=cost.line,
            column=cost.column,
            advice=cost.advice,
        )


def problems_of(library: Library, cost_class: CostClass) -> Iterator[Problem]:
    """Yield the expressions of a class, each at its most expensive part."""
    for policy in library.policies:
        for cost in costs_of(policy):
            if cost.cost_class == cost_class:
                advice = f"; {cost.advice}" if cost.advice else ""
                message = f"up to {cost.microseconds / 1000:,.0f} ms for the largest pod{advice}"
                yield policy.parsed.problem(cost.path, cost.line, cost.column, message)
