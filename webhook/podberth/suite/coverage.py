"""Coverage of policies by test cases: which expressions were evaluated, and which conditions were both true and false.

A condition counts as two points: a point if a case made the condition true, and a point if a case made the condition
false. Any other expression counts as one point. A variable counts as evaluated if an evaluated expression needed it. A
variable inside a loop counts as evaluated if the loop ran at least once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cel.engine import Activation, Environment, Expression, Want
from ..cel.trace import Tracer
from ..cel.types import BOOL
from ..errors import EvaluationError, Problem
from ..kube.paths import Path
from ..policy.compile import CompiledMutation, CompiledPolicy
from ..policy.evaluate import Params
from ..policy.expressions import Placed, expressions_of
from ..policy.parse import ParsedPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One evaluation of an expression, with the values of the names in the expression."""

    policy: CompiledPolicy
    expression: Expression
    activation: Activation
    answer: Any | EvaluationError


@dataclass(slots=True, kw_only=True)
class Observer:
    """Records the policies that apply in a suite's cases and, with ``keep_answers``, the result of each expression.

    The evaluation of a policy calls the observer's methods. Coverage and cost are computed from the results. The
    recorded results keep every pod of the suite in memory.
    """

    keep_answers: bool = False
    matched_policies: set[str] = field(default_factory=set)
    """The names of the policies that applied in at least one case."""
    policies: dict[str, CompiledPolicy] = field(default_factory=dict)
    """The compiled policies of the suite, by name."""
    answers: list[Observed] = field(default_factory=list)
    _of_kinds: dict[str, "Observer"] = field(default_factory=dict)

    def of_kind(self, kind: str) -> "Observer":
        """Return the observer of the native policies of a Kubernetes kind, such as ValidatingAdmissionPolicy.

        The names of policies are unique only within a kind.
        """
        return self._of_kinds.setdefault(kind, Observer(keep_answers=self.keep_answers))

    def passed_over(self, policy: CompiledPolicy, why: str) -> None:
        """Record nothing, because a case does not cover a policy that does not apply."""

    def left_out(self, policy: CompiledPolicy, mutation: CompiledMutation, why: str) -> None:
        """Record nothing: the expressions of the mutation were evaluated."""

    def matched(self, policy: CompiledPolicy, params: Params | None) -> None:  # noqa: ARG002 - the watch's form
        """Record that a policy applied to a case."""
        self.matched_policies.add(policy.name)

    def answered(
        self, policy: CompiledPolicy, expression: Expression, activation: Activation, answer: Any | EvaluationError
    ) -> None:
        """Record an expression's result, if the observer keeps results."""
        if self.keep_answers:
            self.answers.append(Observed(policy=policy, expression=expression, activation=activation, answer=answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """The coverage of one expression: how often it was evaluated and, for a condition, the values that occurred."""

    policy: str
    place: Problem
    """The place of the expression. The message says which value no case produced; empty if no value is missing."""
    source: str
    times: int
    values: frozenset[bool] | None
    """The values that the condition had; None if the expression is no condition."""

    @property
    def points(self) -> int:
        """The number of points of the expression: 2 for a condition, 1 for any other expression."""
        return 1 if self.values is None else 2

    @property
    def covered(self) -> int:
        """The number of the expression's points that are covered."""
        return min(self.times, 1) if self.values is None else len(self.values)


def percent(expressions: Iterable[Covered]) -> float:
    """Return the percentage of the expressions' points that are covered; 100 if there are no points."""
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
    """Return the coverage of every expression of the observed policies; ``observer`` must have recorded the results."""
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
    """Counts how often each expression of one policy was evaluated."""

    def __init__(self, policy: CompiledPolicy, environment: Environment) -> None:
        self.by_path: dict[Path, _Count] = {}
        self._variables = [each.name for each in policy.source.spec.variables]
        self._tracer = Tracer(environment, policy.variables)
        self._paths: dict[int, Mapping[int, Path]] = {}
        """For each compiled policy, by its ``id``, a mapping from the ``id`` of an expression to the expression's path.
        """

    def add(self, observed: Observed) -> None:
        """Count an evaluation of an expression, and of the variables that the evaluation needed."""
        policy, expression = observed.policy, observed.expression
        if id(policy) not in self._paths:
            self._paths[id(policy)] = {id(placed.expression): placed.path for placed in expressions_of(policy)}
        answer = None if isinstance(observed.answer, EvaluationError) else observed.answer
        self._count(self._paths[id(policy)][id(expression)], answer)
        reached = self._tracer.reached(expression.source, observed.activation)
        for index, name in enumerate(self._variables):
            if name in reached:
                self._count(("spec", "variables", index, "expression"), reached[name].value)

    def _count(self, path: Path, answer: object) -> None:
        self.by_path.setdefault(path, _Count()).add(answer)


def _covered(placed: Placed, counts: Mapping[Path, _Count], parsed: ParsedPolicy, *, applied: bool) -> Covered:
    count = counts.get(placed.path, _Count())
    if placed.expression is None:
        count = _of_fact(placed, counts, applied=applied)
    condition = placed.expression is not None and _is_condition(placed.expression)
    values = frozenset(count.values) if condition else None
    return Covered(
        policy=parsed.policy.name,
        place=parsed.problem(placed.path, _missing(count.times, values)),
        source=placed.source,
        times=count.times,
        values=values,
    )


def _is_condition(expression: Expression) -> bool:
    """Return whether an expression is a boolean that can be both true and false, unlike a literal."""
    literal = not expression.reads and not expression.functions
    return not literal and (expression.want is Want.BOOL or expression.type == BOOL)


def _of_fact(placed: Placed, counts: Mapping[Path, _Count], *, applied: bool) -> _Count:
    """Return the count for an expression that is read without CEL, such as ``gang.name``: 1 if it was used, else 0.

    ``applied`` is whether a case applied the policy. An expression is used if its mutation has no condition ``when``
    and the policy was applied, or if ``when`` was true in any case.
    """
    when = counts.get((*placed.path[:3], "when"))
    used = applied if when is None else True in when.values
    return _Count(times=int(used))


def _missing(times: int, values: frozenset[bool] | None) -> str:
    if not times:
        return "never evaluated"
    if values is None or len(values) > 1:
        return ""
    return "never had a value" if not values else "never false" if True in values else "never true"
