"""The expressions of the policies that the cases evaluated, and the conditions that were never true or never false.

An expression is one point, a condition two: a condition is covered when one case made it true and another made it
false. A variable is evaluated where an expression needed it; a variable within a loop counts as evaluated when the loop
ran at least once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cel.engine import BOOL, Activation, Environment, Expression, Want
from ..cel.trace import Tracer
from ..errors import EvaluationError, Problem
from ..kube.positions import Path
from ..policy.compile import BoundExpression, CompiledPolicy
from ..policy.evaluate import Params
from ..policy.parse import ParsedPolicy
from ..policy.places import Placed, expressions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One expression that was evaluated, with the names that it was evaluated with."""

    policy: CompiledPolicy
    bound: BoundExpression
    activation: Activation
    answer: Any | EvaluationError


class Observer:
    """A watch (``policy.evaluate.Watch``) over all cases of a suite."""

    def __init__(self, *, keep_answers: bool = False) -> None:
        """With ``keep_answers``, keep every answer, for coverage and cost; the answers hold every pod of the suite."""
        self.matched_policies: set[str] = set()
        """The names of the policies that applied in some case."""
        self.policies: dict[str, CompiledPolicy] = {}
        """The policies that were evaluated, by name, as one of the cases compiled them."""
        self.answers: list[Observed] = []
        self._keep = keep_answers

    def passed_over(self, policy: CompiledPolicy, why: str) -> None:
        """Record nothing: a case shows that a policy does not apply."""

    def matched(self, policy: CompiledPolicy, params: Params | None) -> None:  # noqa: ARG002 - the watch's form
        """Record that a policy applied."""
        self.matched_policies.add(policy.name)

    def answered(
        self, policy: CompiledPolicy, bound: BoundExpression, activation: Activation, answer: Any | EvaluationError
    ) -> None:
        """Keep the answer, if this observer keeps answers."""
        if self._keep:
            self.answers.append(Observed(policy=policy, bound=bound, activation=activation, answer=answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """One expression: how often it was evaluated, and for a condition, the values that it had."""

    policy: str
    place: Problem
    """The expression's place. Its message says which value no case gave; empty if all values were given."""
    source: str
    times: int
    values: frozenset[bool] | None
    """The values of a condition; None if the expression is no condition."""

    @property
    def points(self) -> int:
        """The number of points of the expression."""
        return 1 if self.values is None else 2

    @property
    def covered(self) -> int:
        """The number of its points that are covered."""
        return min(self.times, 1) if self.values is None else len(self.values)


def percent(expressions: Iterable[Covered]) -> float:
    """Return the percentage of points that are covered; 100 where there are none."""
    rows = list(expressions)
    points = sum(each.points for each in rows)
    return 100.0 if not points else 100 * sum(each.covered for each in rows) / points


@dataclass(slots=True)
class _Count:
    times: int = 0
    values: set[bool] = field(default_factory=set)

    def add(self, answer: object) -> None:
        self.times += 1
        if isinstance(answer, bool):
            self.values.add(answer)


def coverage(observer: Observer, parsed: Sequence[ParsedPolicy], environment: Environment) -> tuple[Covered, ...]:
    """Return every expression of the policies, in their order; the observer has kept the answers."""
    counts = {name: _Counts(policy, environment) for name, policy in observer.policies.items()}
    for each in observer.answers:
        counts[each.policy.name].add(each)
    by_name = {each.policy.name: each for each in parsed}
    return tuple(
        _covered(
            placed, counts[policy.name].by_path, by_name[policy.name], applied=policy.name in observer.matched_policies
        )
        for policy in sorted(observer.policies.values(), key=lambda policy: policy.source.sort_key)
        for placed in expressions_of(policy)
    )


class _Counts:
    """How often the expressions of one policy were evaluated."""

    def __init__(self, policy: CompiledPolicy, environment: Environment) -> None:
        self.by_path: dict[Path, _Count] = {}
        self._variables = [each.name for each in policy.source.spec.variables]
        self._tracer = Tracer(environment, {name: bound.expression for name, bound in policy.variables.items()})
        self._paths: dict[int, Mapping[int, Path]] = {}
        """By identity of the policy, which each case compiles again, and of the expression."""

    def add(self, observed: Observed) -> None:
        """Count an expression, and the variables that it needed."""
        policy, bound = observed.policy, observed.bound
        if id(policy) not in self._paths:
            self._paths[id(policy)] = {id(placed.bound): placed.path for placed in expressions_of(policy)}
        answer = None if isinstance(observed.answer, EvaluationError) else observed.answer
        self._count(self._paths[id(policy)][id(bound)], answer)
        reached = self._tracer.reached(bound.expression.source, observed.activation)
        for index, name in enumerate(self._variables):
            if name in reached:
                self._count(("spec", "variables", index, "expression"), reached[name].value)

    def _count(self, path: Path, answer: object) -> None:
        self.by_path.setdefault(path, _Count()).add(answer)


def _covered(placed: Placed, counts: Mapping[Path, _Count], parsed: ParsedPolicy, *, applied: bool) -> Covered:
    count = counts.get(placed.path, _Count())
    if placed.bound is None:
        count = _of_fact(placed, counts, applied=applied)
    condition = placed.bound is not None and _is_condition(placed.bound.expression)
    values = frozenset(count.values) if condition else None
    return Covered(
        policy=parsed.policy.name,
        place=parsed.problem(placed.path, 1, 1, _missing(count.times, values)),
        source=placed.source,
        times=count.times,
        values=values,
    )


def _is_condition(expression: Expression) -> bool:
    """Return whether an expression can be true and false; the literal ``false`` cannot."""
    literal = not expression.reads and not expression.functions
    return not literal and (expression.want is Want.BOOL or expression.type == BOOL)


def _of_fact(placed: Placed, counts: Mapping[Path, _Count], *, applied: bool) -> _Count:
    """Return the count of an expression that is never evaluated: it is used whenever its mutation applies."""
    when = counts.get(("spec", "mutations", placed.mutation or 0, "when"))
    used = applied if when is None else True in when.values
    return _Count(times=int(used))


def _missing(times: int, values: frozenset[bool] | None) -> str:
    if not times:
        return "never evaluated"
    if values is None or len(values) > 1:
        return ""
    return "never had a value" if not values else "never false" if True in values else "never true"
