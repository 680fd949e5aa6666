"""Evaluates the CEL expressions of policies for the pod under review, and caches the results.

The fingerprint of a pod has the values that the expressions read from the pod (``fingerprint``). A cached result is
returned for a later pod with an equal fingerprint. Audit annotations are not cached. If a ``Watch`` observes the
decision, nothing is cached, because the watch has to see every evaluation.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ..cel.engine import Activation
from ..errors import EvaluationError
from ..kube.paths import Path
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import Asked, Evaluation, Failure, Params, Watch
from .fingerprint import fact_of, fingerprint
from .params import called, identity
from .recall import Footprint
from .snapshot import Plan
from .under_review import PodUnderReview

_Answer = TypeVar("_Answer")


class Asking:
    """Evaluates the expressions of the policies that can match a review, for the pod under review.

    A cached result is returned if the expressions read equal values from an earlier pod.
    """

    def __init__(self, plan: Plan, under: PodUnderReview, watch: Watch | None = None) -> None:
        self.plan = plan
        self.under = under
        self.watch = watch
        self.asked: set[str] = set()
        """The names of the policies whose mutations have been evaluated."""
        self.asked_again: list[Footprint | None] = []
        """The footprints of the matchConditions that were evaluated for one policy alone, such as after a write."""

    def all_conditions(self) -> Sequence[bool | EvaluationError]:
        """Return the result of each matchCondition of the policies in ``self.plan``, in one list.

        The results are in the order of the policies; ``Plan.slices`` has the range of each policy's results in the
        list. A policy with a matchCondition that reads params has no results in the list: ``still_matches`` evaluates
        its conditions.
        """
        batch = self.plan.batch
        if batch is None:
            return ()
        question = ("conditions", id(self.plan))
        return self._recall(question, self.plan.batch_reads, lambda: batch.evaluate(self._activation(None)))

    def still_matches(self, policy: CompiledPolicy, params: Params | None) -> bool:
        """Return whether the policy's matchConditions are true for the pod with the writes so far.

        Only the conditions of this policy are evaluated.

        Raises:
            EvaluationError: no condition is false, and at least one condition failed.
        """
        read = self.plan.footprint_of_conditions(policy)
        self.asked_again.append(read)
        question = ("matches", policy.name, identity(params))
        return self._recall(question, read, lambda: self._with_params(policy, params, Evaluation.conditions))

    def mutations(self, policy: CompiledPolicy, params: Params | None) -> list[Asked]:
        """Return the mutations of the policy that apply to the pod with the writes so far.

        Raises:
            EvaluationError: an expression of a mutation failed; then none of the policy's mutations applies.
        """
        self.asked.add(policy.name)
        question, read = (policy.name, identity(params)), self.plan.footprint_of(policy)
        asked = self._recall(question, read, lambda: self._with_params(policy, params, Evaluation.mutations))
        return [self._with_facts(entry) for entry in asked]

    def mutations_after(
        self, policy: CompiledPolicy, params: Params | None, pod: dict[str, Any], paths: tuple[Path, ...]
    ) -> list[Asked]:
        """Return the policy's mutations that would apply if the pod under review were ``pod``, with their values.

        ``pod`` already has the policy's writes, and differs from the pod under review only at ``paths``.

        Raises:
            EvaluationError: an expression of a mutation failed.
        """
        later = Asking(self.plan, self.under.as_if(pod, paths))
        return later.mutations(policy, params) if later._evaluation(policy, params).conditions() else []

    def failures(self, policy: CompiledPolicy, params: Params | None) -> list[Failure]:
        """Return a failure for each validation of the policy that is false for the pod or could not be evaluated."""
        question, read = ("validations", policy.name, identity(params)), self.plan.footprint_of(policy)
        return self._recall(
            question,
            read,
            lambda: self._failures(policy, params),
            lambda failures: (each.message for each in failures),
        )

    def audit_annotations(self, policy: CompiledPolicy, params: Params | None) -> Mapping[str, str | EvaluationError]:
        """Return a mapping from the key of each of the policy's audit annotations to the value, or to the error."""
        return self._evaluation(policy, params).audit_annotations() if policy.audit_annotations else {}

    def _with_params(
        self, policy: CompiledPolicy, params: Params | None, ask: Callable[[Evaluation], _Answer]
    ) -> _Answer:
        """Return the result of ``ask``, a function that evaluates expressions of the policy for one params object.

        The message of an error gets the name of the params object.
        """
        try:
            return ask(self._evaluation(policy, params))
        except EvaluationError as error:
            if params is None:
                raise
            raise EvaluationError(f"{error} (with {called(params)})") from error

    def _failures(self, policy: CompiledPolicy, params: Params | None) -> list[Failure]:
        found = self._evaluation(policy, params).failures()
        if params is None:
            return found
        return [
            replace(each, message=f"{each.message} (with {called(params)})") if each.error else each for each in found
        ]

    def _evaluation(self, policy: CompiledPolicy, params: Params | None) -> Evaluation:
        return Evaluation(policy, self._activation(params), self.watch)

    def _activation(self, params: Params | None) -> Activation:
        """Return the values of the CEL variables, with the params object ``params``.

        The variable ``object`` has only the fields that policies read; all fields if a ``Watch`` observes the review.
        """
        return self.under.activation(params, self.plan.read_of_pod if self.watch is None else None)

    def _with_facts(self, asked: Asked) -> Asked:
        facts = asked.mutation.facts
        if not facts:
            return asked
        description = self.under.description
        values = {leaf: fact_of(description, *field) for leaf, field in facts.items()}
        return Asked(mutation=asked.mutation, leaves={**asked.leaves, **values}, reason=asked.reason)

    def _recall(
        self,
        question: Hashable,
        read: Footprint | None,
        ask: Callable[[], _Answer],
        texts: Callable[[_Answer], Iterable[str]] | None = None,
    ) -> _Answer:
        under = self.under
        values = fingerprint(under, read) if self.watch is None else None
        return under.snapshot.recall.answer(None if values is None else (question, values), ask, texts)
