"""The cost class of each expression: what ``cel.cost`` bounds, in three words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..cel.cost import MAX_MICROSECONDS
from ..errors import Problem
from ..kube.positions import Path
from .model import Library, Linted

CostClass: TypeAlias = Literal["cheap", "moderate", "dear"]

CHEAP_BELOW: Final = 1_000
"""Microseconds: a hundredth of what a policy may take; most expressions take less than one microsecond."""
DEAR_FROM: Final = MAX_MICROSECONDS // 2
"""Two of these, and the policy is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCost:
    """What one expression takes at most, on the largest pod; variables that it names are priced by themselves."""

    policy: Linted
    path: Path
    microseconds: float
    line: int
    column: int
    """Where its dearest part stands in it, from 1."""
    advice: str
    """What to write instead of that part; empty where nothing is dear."""

    @property
    def cost_class(self) -> CostClass:
        """Return the class."""
        if self.microseconds < CHEAP_BELOW:
            return "cheap"
        return "moderate" if self.microseconds < DEAR_FROM else "dear"


def costs_of(policy: Linted) -> Iterator[ExpressionCost]:
    """Yield the cost of each expression of a policy."""
    for placed in policy.expressions:
        if placed.bound is None:  # a scalar of gpu or gang: nobody evaluates it
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
    """Yield the expressions of a class, each at its dearest part."""
    for policy in library.policies:
        for cost in costs_of(policy):
            if cost.cost_class == cost_class:
                advice = f"; {cost.advice}" if cost.advice else ""
                message = f"up to {cost.microseconds / 1000:,.0f} ms for the largest pod{advice}"
                yield policy.parsed.problem(cost.path, cost.line, cost.column, message)
