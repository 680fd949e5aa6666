"""Finds the policies that apply to the pod under review, each with its params objects.

A policy applies if, in this order, its matchConstraints select the request, its rollout includes the pod, its params
are found, and its matchConditions are true with a params object. Kubernetes evaluates its own policies in this order,
without the rollout. The conditions of all policies are first evaluated together. After a policy has written, the
conditions of a later policy are evaluated again only if the conditions read a part of the pod that was written.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import EvaluationError
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import Params, combine, false_condition
from ..policy.match import MatchRequest, SetUpError, mismatch
from ..policy.unfit import unfit
from .asking import Asking
from .description import meets, parts_of
from .excepting import excepted, text_of
from .outcome import Decision
from .params import missing
from .review import AdmissionRequest
from .rollout import rolled_out, rollout_key


def match_request(request: AdmissionRequest, pod: Mapping[str, Any]) -> MatchRequest:
    """Return the fields of a request that matchConstraints depend on; ``pod`` is the pod as it is now."""
    return MatchRequest(
        operation=request.operation,
        group=request.group,
        version=request.version,
        resource=request.resource,
        sub_resource=request.sub_resource,
        name=request.name,
        namespace=request.namespace,
        object=pod,
        old_object=request.old_object,
        # With unknown labels each objectSelector matches: the policy then fails, and its failurePolicy decides.
        has_labels=not request.unparsed,
    )


@dataclass(frozen=True, slots=True)
class Matched:
    """A policy that applies to the pod, with one of its params objects (None for a policy without params)."""

    policy: CompiledPolicy
    params: Params | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A policy that could not be evaluated for the pod under review, with the reason."""

    policy: CompiledPolicy
    message: str
    of_set_up: bool = False
    """Whether the params or the namespace of the policy are missing. Under failurePolicy Fail, the policy then denies
    even if its validationActions have no Deny; Kubernetes calls this an error of configuration
    (plugin/policy/validating/dispatcher.go, addConfigError)."""

    @property
    def fatal(self) -> bool:
        """Whether the fault denies the pod: True if the policy's failurePolicy is Fail."""
        return self.policy.source.spec.failure_policy == "Fail"


class Matching:
    """Finds the policies that apply to the pod under review, among the policies that can match the review.

    A policy's conditions are evaluated for the pod as the earlier policies left it.
    """

    def __init__(self, asking: Asking) -> None:
        """Evaluate the matchConditions of all policies together, unless the review exceeds the size bounds."""
        self.asking = asking
        self.under = asking.under
        self.plan = asking.plan
        self._excepted = excepted(self.under, self.plan.policies)
        self._answers: Sequence[bool | EvaluationError] = ()
        if not self.under.excess and any(map(self._in_scope, self.plan.policies)):
            self._answers = asking.all_conditions()

    def __iter__(self) -> Iterator[Matched | Fault | Decision]:
        """Yield each policy that applies, once for each params object; a ``Fault`` if the policy cannot be evaluated.

        If an exception excludes the policy for the pod, the decision that says so is yielded. The policy's constraints
        and conditions are then not evaluated.
        """
        for index, policy in enumerate(self.plan.policies):
            if not self._in_scope(policy):
                dialect = self.under.description.gpu.dialect
                has = f"leaves its share of a device to {dialect}" if dialect else "asks for no devices"
                self._pass_over(policy, f"scope: GPU, and the pod {has}")
                continue
            if (exception := self._excepted.get(policy.name)) is not None:
                why = text_of(exception)
                self._pass_over(policy, why)
                yield Decision(policy.name, "except", why, exception=exception.name)
                continue
            try:
                yield from self._matches(index, policy)
            except SetUpError as error:
                yield Fault(policy, str(error), of_set_up=True)
            except EvaluationError as error:
                yield Fault(policy, str(error))

    @property
    def question(self) -> Hashable:
        """A cache key for the set of policies that apply to the unchanged pod; None if the set must not be cached.

        The key has the results of the matchConditions, the exceptions in force for the pod, the params of the pod's
        namespace, and facts about the gang and the GPUs. None if the pod is too large, if a condition failed, or if a
        ``Watch`` observes the decision, because the observer must see every evaluation. The method ``policies`` returns
        None if the set also depends on something that is not in the key.
        """
        under, answers = self.under, self._answers
        if under.excess or self.asking.watch is not None or not all(isinstance(each, bool) for each in answers):
            return None
        description = under.description
        gang = description.gang
        facts = (gang.known, gang.staged, gang.by_role, gang.sized_by_owner, description.gpu.dialect)
        excepted = tuple((policy, each.name) for policy, each in self._excepted.items())
        find, namespace = under.snapshot.params.key, under.request.namespace
        params = tuple(find(each, namespace) for each in self.plan.with_namespace_params)
        return id(self.plan), tuple(answers), excepted, params, description.concerned, *facts

    def policies(self) -> list[CompiledPolicy] | None:
        """Return the policies that apply to the unchanged pod; None if ``question`` does not determine the set.

        None if a policy has a rollout, params that the policy's conditions read, or constraints on more than the
        operation and the resource; if a condition failed; or if a matching policy reads the pod's namespace.
        """
        found: list[CompiledPolicy] = []
        for policy, span in zip(self.plan.policies, self.plan.slices, strict=True):
            spec = policy.source.spec
            if span is None or not policy.matches_statically or spec.rollout:
                return None
            if not self._in_scope(policy) or policy.name in self._excepted:
                continue
            answers = self._answers[span]
            if any(isinstance(answer, EvaluationError) for answer in answers):
                return None
            if False in answers:
                continue
            if policy.reads_namespace:
                return None
            found.append(policy)
        return found

    def _in_scope(self, policy: CompiledPolicy) -> bool:
        return policy.source.spec.scope == "All" or self.under.description.concerned

    def _matches(self, index: int, policy: CompiledPolicy) -> Iterator[Matched | Fault]:
        """Yield the policy with each params object for which the matchConditions are true, or a fault for an error.

        ``index`` is the index of ``policy`` in ``self.plan.policies``.
        """
        if why := self._other_request(policy):
            self._pass_over(policy, why)
            return
        if self.under.excess:
            raise EvaluationError(self.under.excess)
        if why := self._not_rolled_out(policy):
            self._pass_over(policy, why)
            return
        found = self.under.snapshot.params.of(policy, self.under.request.namespace)
        if not found:
            why = missing(policy, self.under.request.namespace)
            self._pass_over(policy, f"paramRef: {why} (parameterNotFoundAction Allow)")
            return
        answers = self._answers_of(index, policy)
        if answers is None or self._all_hold(policy, answers):
            for params in found:
                yield from self._matches_with(params, index, policy)

    def _matches_with(self, params: Params | None, index: int, policy: CompiledPolicy) -> Iterator[Matched | Fault]:
        try:
            # Checked for each params object: with an earlier one, the policy may have written what its conditions read.
            holds = self._answers_of(index, policy) is not None or self.asking.still_matches(policy, params)
        except EvaluationError as error:
            yield Fault(policy, str(error))
            return
        if not holds:
            return
        namespace = self.under.request.namespace
        if policy.reads_namespace and namespace not in self.under.snapshot.facts.namespaces:
            raise SetUpError(f"namespaceObject: namespace {namespace!r} is not known")
        if self.asking.watch is not None:
            self.asking.watch.matched(policy, params)
        yield Matched(policy, params)

    def _other_request(self, policy: CompiledPolicy) -> str:
        """Return the matchConstraints field that excludes the request; empty if no field does.

        With a ``Watch``, the text says why, too.
        """
        if policy.matches_statically:
            return ""
        asked, namespaces = match_request(self.under.request, self.under.pod), self.under.snapshot.facts.namespaces
        constraint = mismatch(policy.source, asked, namespaces)
        if not constraint or self.asking.watch is None:
            return constraint
        return f"matchConstraints.{unfit(policy.source.spec.match_constraints, asked, namespaces)}"

    def _not_rolled_out(self, policy: CompiledPolicy) -> str:
        """Return a message if the policy's rollout does not include the pod's workload yet; otherwise an empty text."""
        rollout = policy.source.spec.rollout
        if rollout is None:
            return ""
        under = self.under
        key = rollout_key(policy.name, under.pod, under.request.namespace, under.snapshot, under.found.standing)
        if rolled_out(rollout.percent, policy.name, key):
            return ""
        return f"rollout: this workload is not among the first {rollout.percent} of 100"

    def _all_hold(self, policy: CompiledPolicy, answers: Sequence[bool | EvaluationError]) -> bool:
        """Return whether all matchConditions of a policy are true; ``answers`` has one result for each condition.

        Raises:
            EvaluationError: no condition is false, and at least one condition failed.
        """
        if self.asking.watch is not None:
            activation = self.under.activation(None)
            for (_, expression), answer in zip(policy.conditions, answers, strict=True):
                self.asking.watch.answered(policy, expression, activation, answer)
        holds = combine(policy, answers)
        if not holds:
            self._pass_over(policy, false_condition(policy, answers))
        return holds

    def _pass_over(self, policy: CompiledPolicy, why: str) -> None:
        if self.asking.watch is not None:
            self.asking.watch.passed_over(policy, why)

    def _answers_of(self, index: int, policy: CompiledPolicy) -> Sequence[bool | EvaluationError] | None:
        """Return the results of the policy's matchConditions from the evaluation of all policies' conditions.

        ``index`` is the index of ``policy`` in ``self.plan.policies``. None if the policy's conditions read params, and
        were therefore not evaluated together with the others; or if a policy has since written on a path that the
        conditions read.
        """
        span = self.plan.slices[index]
        outdated = self.under.written and meets(self.under.written, parts_of(policy.conditions_read))
        return None if span is None or outdated else self._answers[span]
