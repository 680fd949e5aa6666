"""The effects of a suite's cases on the policies: which policies applied, and the value of every expression."""

from dataclasses import dataclass
from typing import Any

from ..cel.engine import Activation
from ..errors import EvaluationError
from ..policy.compile import Bound, CompiledPolicy
from ..policy.evaluate import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One expression that was evaluated, with the names that it was evaluated with."""

    policy: CompiledPolicy
    bound: Bound
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

    def matched(self, evaluation: Evaluation) -> None:
        """Record that a policy applied."""
        self.matched_policies.add(evaluation.policy.name)

    def answered(
        self, policy: CompiledPolicy, bound: Bound, activation: Activation, answer: Any | EvaluationError
    ) -> None:
        """Keep the answer, if this observer keeps answers."""
        if self._keep:
            self.answers.append(Observed(policy=policy, bound=bound, activation=activation, answer=answer))
