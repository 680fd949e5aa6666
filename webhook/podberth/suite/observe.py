"""What a suite's cases made of the policies: which applied, and what every expression came to."""

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
        """``keep_answers``: for coverage and cost; they hold every pod of the suite."""
        self.matched_policies: set[str] = set()
        """The policies that applied in some case, by name."""
        self.policies: dict[str, CompiledPolicy] = {}
        """The policies that were asked, by name, as some case had them."""
        self.answers: list[Observed] = []
        self._keep = keep_answers

    def passed_over(self, policy: CompiledPolicy, why: str) -> None:
        """Take no note: a case is there to find out."""

    def matched(self, evaluation: Evaluation) -> None:
        """Take note that a policy applied."""
        self.matched_policies.add(evaluation.policy.name)

    def answered(
        self, policy: CompiledPolicy, bound: Bound, activation: Activation, answer: Any | EvaluationError
    ) -> None:
        """Keep the answer, where answers are kept."""
        if self._keep:
            self.answers.append(Observed(policy=policy, bound=bound, activation=activation, answer=answer))
