"""Does a policy apply to this review, and with which params: everything between the static plan and the expressions."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

from ..cel.engine import Activation
from ..errors import EvaluationError
from ..kinds.systems import NATIVE_GROUP
from ..kube import pod as pods
from ..kube.budget import DEVICES, GPUS, beyond
from ..kube.patch import Path
from ..kube.selector import label_selector_matches
from ..mutation import record
from ..mutation.membership import GangFacts
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import Asked, Evaluation, Failure, Watch, combine
from ..policy.match import MatchRequest, SetUpError, mismatch
from .checked import Checked
from .recall import Footprint
from .rollout import rolled_out, rollout_key
from .snapshot import Phase, Plan, Snapshot
from .state import PodState, fact_of, fingerprint, follow, meets, observe, parts_of, unread

_Answer = TypeVar("_Answer")
_CONDITION_FALSE = "matchConditions: one is false"


@dataclass(frozen=True, slots=True)
class Fault:
    """A policy that could not be asked on this pod."""

    policy: CompiledPolicy
    message: str
    of_set_up: bool = False
    """What it is to be asked with is missing, so it denies whatever its validationActions: upstream's error of
    configuration (plugin/policy/validating/dispatcher.go, addConfigError)."""

    @property
    def fatal(self) -> bool:
        """Say whether the policy's failurePolicy makes this a denial."""
        return self.policy.source.spec.failure_policy == "Fail"


def known_of(matcher: "Matcher") -> GangFacts:
    """Return what is known of the pod's gang as it is, and of the groups that it may join."""
    gang, snapshot = matcher.state.gang, matcher.snapshot
    return GangFacts(
        name=gang.name,
        size=gang.size,
        apart=gang.apart,
        by_role=gang.by_role,
        is_accelerated=matcher.state.gpu.kind != "none",
        system=gang.system,
        index=gang.index,
        role=gang.role,
        namespace=matcher.request.namespace,
        native=matcher.pod_groups,
        groups=snapshot.facts.pod_groups,
        minimum=snapshot.facts.group_sizes.get((NATIVE_GROUP, matcher.request.namespace, gang.name), 0),
        served=snapshot.facts.served_groups,
        staged=gang.staged,
        sized_by_owner=matcher.sized_by_owner,
    )


class Matcher:
    """Asks the policies of one plan, in order, whether they match, against the pod as it then is.

    All conditions are asked together once. After a policy has written something, the conditions of a later one are
    asked again only if what they read was written.
    """

    def __init__(
        self,
        phase: Phase,
        review: Checked,
        snapshot: Snapshot,
        *,
        watch: Watch | None = None,
    ) -> None:
        """Observe the pod and ask all conditions; do neither where the review is beyond its bounds.

        With a ``watch`` nothing is remembered, so that it sees every answer.
        """
        request, pod = review.request, review.pod
        self._watch = watch
        self.request = request
        self.snapshot = snapshot
        self.pod_groups = snapshot.facts.native_groups.get(request.namespace, frozenset())
        """Names of the native PodGroups in the pod's namespace."""
        self.observed_again: set[str] = set()
        """Which of ``gpu`` and ``gang`` were observed again because of what was written."""
        self.asked: set[str] = set()
        """Which policies were asked what they want, by name."""
        self.asked_again: list[Footprint | None] = []
        """The footprints of conditions that were asked again because of what was written."""
        self.plan: Plan = snapshot.plan(phase, request)
        self.found = record.find(pod, request.namespace, snapshot.sealer)
        """What the pod's record said when it came; of a pod beyond its bounds the outline has none."""
        self._state: PodState = unread(pod, snapshot) if review.excess else observe(pod, request, snapshot)
        gang = self._state.gang
        self.sized_by_owner = gang.name if gang.sized_by_owner else ""
        """The gang's name where an owner is to say its size: as the pod came, for a group that it joins says none."""
        self._unseen: tuple[Path, ...] = ()
        self._pod = pod
        self._written: tuple[Path, ...] = ()
        self._activation: Activation | None = None
        self._answers: Sequence[bool | EvaluationError] = ()
        gpu = self._state.gpu
        self.excess = review.excess or beyond(GPUS, len(gpu.requests)) or beyond(DEVICES, len(gpu.claims))
        """Why no expression is asked about this pod; empty for a pod within its bounds (``kube.budget``)."""
        batch = self.plan.batch
        if not self.excess and batch is not None and any(map(self._in_scope, self.plan.policies)):
            question = ("conditions", id(self.plan))
            self._answers = self._recall(question, self.plan.batch_reads, lambda: batch.evaluate(self._activate(None)))

    def __iter__(self) -> Iterator[Evaluation | Fault]:
        """Yield, for each policy that matches, an evaluation per params object; a fault where that cannot be said."""
        for index, policy in enumerate(self.plan.policies):
            if not self._in_scope(policy):
                shared = self.state.gpu.dialect
                has = f"leaves its share of a device to {shared}" if shared else "asks for no devices"
                self._pass_over(policy, f"scope: GPU, and the pod {has}")
                continue
            try:
                yield from self._matches(index, policy)
            except SetUpError as error:
                yield Fault(policy, str(error), of_set_up=True)
            except EvaluationError as error:
                yield Fault(policy, str(error))

    @property
    def question(self) -> Hashable:
        """What decides which policies match the pod as it came; None where they have to be asked."""
        if self.excess or self._watch is not None or not all(isinstance(answer, bool) for answer in self._answers):
            return None
        state = self.state
        gang = state.gang
        facts = (state.concerned, gang.known, gang.staged, gang.by_role, gang.sized_by_owner, state.gpu.dialect)
        return id(self.plan), tuple(self._answers), *facts

    def matching(self) -> list[CompiledPolicy] | None:
        """Return the policies that match the pod as it came; None where ``question`` alone cannot tell.

        Nor may anything but the pod decide, within one snapshot, what one of them says.
        """
        found: list[CompiledPolicy] = []
        for policy, span in zip(self.plan.policies, self.plan.slices, strict=True):
            spec = policy.source.spec
            if span is None or not policy.matches_statically or spec.rollout:
                return None
            if not self._in_scope(policy):
                continue
            answers = self._answers[span]
            if any(isinstance(answer, EvaluationError) for answer in answers):
                return None
            elsewhere = spec.param_ref if spec.param_ref is not None and not spec.param_ref.namespace else None
            if False in answers:
                if elsewhere is not None and elsewhere.parameter_not_found_action == "Deny":
                    return None
                continue
            if policy.reads_namespace or elsewhere is not None:
                return None
            found.append(policy)
        return found

    @property
    def pod(self) -> dict[str, Any]:
        """The pod as it is now."""
        return self._pod

    def wrote(self, pod: dict[str, Any], paths: tuple[Path, ...]) -> None:
        """Take note that the pod is now ``pod``, which differs at ``paths``."""
        self._pod = pod
        self._written += paths
        self._unseen += paths
        self._activation = None

    def again(self, evaluation: Evaluation, pod: dict[str, Any], paths: tuple[Path, ...]) -> list[Asked]:
        """Return what a policy that has just written ``paths`` would want of the pod as it has left it.

        To this matcher the pod stays as it was.

        Raises:
            EvaluationError: as ``mutations`` says.
        """
        later = copy(self)
        later.wrote(pod, paths)
        later._watch = None  # noqa: SLF001 - one of this class
        asked = Evaluation(evaluation.policy, evaluation.params, later._activate)  # noqa: SLF001 - as above
        return later.mutations(asked) if asked.conditions() else []

    @property
    def state(self) -> PodState:
        """The pod as it is now; observed again only when somebody asks."""
        if self._unseen:
            before = self._state
            self._state = follow(before, self._pod, self._unseen, (self.request, self.snapshot))
            self._unseen = ()
            if self._state.gpu is not before.gpu:
                self.observed_again.add("gpu")
            if self._state.gang is not before.gang:
                self.observed_again.add("gang")
        return self._state

    def _in_scope(self, policy: CompiledPolicy) -> bool:
        return policy.source.spec.scope == "All" or self.state.concerned

    def mutations(self, evaluation: Evaluation) -> list[Asked]:
        """Return what the policy wants of the pod as it now is: remembered, or asked.

        Raises:
            EvaluationError: as ``Evaluation.mutations`` says; then none of the policy's mutations applies.
        """
        name = evaluation.policy.name
        self.asked.add(name)
        asked = self._recall((name, id(evaluation.params)), self.plan.footprints[name], evaluation.mutations)
        return [self._with_facts(entry) for entry in asked]

    def _with_facts(self, asked: Asked) -> Asked:
        facts = asked.mutation.facts
        if not facts:
            return asked
        values = {leaf: fact_of(self.state, *field) for leaf, field in facts.items()}
        return Asked(mutation=asked.mutation, leaves={**asked.leaves, **values}, reason=asked.reason)

    def failures(self, evaluation: Evaluation) -> list[Failure]:
        """Return the policy's validations that do not hold: remembered, or asked."""
        name = evaluation.policy.name
        question = ("validations", name, id(evaluation.params))
        return self._recall(question, self.plan.footprints[name], evaluation.failures)

    def _recall(self, question: Hashable, read: Footprint | None, ask: Callable[[], _Answer]) -> _Answer:
        seen = fingerprint(self.state, read) if self._watch is None else None
        return self.snapshot.recall.answer(None if seen is None else (question, seen), ask)

    def _matches(self, index: int, policy: CompiledPolicy) -> Iterator[Evaluation | Fault]:
        """Yield what is asked of a policy, one for each params object; a fault in the place of each that errs.

        In upstream's order: constraints, params, then the conditions with each of the params.
        """
        if why := self._other_request(policy):
            self._pass_over(policy, why)
            return
        if self.excess:
            raise EvaluationError(self.excess)
        if why := self._not_rolled_out(policy):
            self._pass_over(policy, why)
            return
        found = self._params(policy)
        if not found:
            self._pass_over(policy, "paramRef: there is no such ConfigMap (parameterNotFoundAction Allow)")
            return
        answers = self._answers_of(index, policy)
        if answers is None or self._all_hold(policy, answers):
            for params in found:
                yield from self._asked_with(params, index, policy)

    def _asked_with(
        self, params: Mapping[str, Any] | None, index: int, policy: CompiledPolicy
    ) -> Iterator[Evaluation | Fault]:
        evaluation = Evaluation(policy, params, self._activate, self._watch)
        try:
            # Once more: with an earlier params object the policy itself may have changed what its conditions read.
            holds = self._answers_of(index, policy) is not None or self._still_matches(evaluation)
        except EvaluationError as error:
            yield Fault(policy, str(error))
            return
        if not holds:
            self._pass_over(policy, _CONDITION_FALSE)
            return
        if policy.reads_namespace and self.request.namespace not in self.snapshot.facts.namespaces:
            raise SetUpError(f"namespaceObject: namespace {self.request.namespace!r} is not known")
        if self._watch is not None:
            self._watch.matched(evaluation)
        yield evaluation

    def _still_matches(self, evaluation: Evaluation) -> bool:
        """Say whether conditions hold that were not asked with all others, or no longer are true of the pod.

        Raises:
            EvaluationError: as ``combine`` says.
        """
        name = evaluation.policy.name
        read = self.plan.condition_footprints[name]
        self.asked_again.append(read)
        return self._recall(("matches", name, id(evaluation.params)), read, evaluation.conditions)

    def _other_request(self, policy: CompiledPolicy) -> str:
        """Return which constraint says that the policy is not about this request; empty if it is."""
        if policy.matches_statically:
            return ""
        constraint = mismatch(policy.source, self._match_request(), self.snapshot.facts.namespaces)
        return f"matchConstraints.{constraint}: not this request" if constraint else ""

    def _not_rolled_out(self, policy: CompiledPolicy) -> str:
        """Say that the policy is not rolled out to the pod's workload yet; empty if it is."""
        rollout = policy.source.spec.rollout
        if rollout is None:
            return ""
        key = rollout_key(policy.name, self._pod, self.request, self.snapshot, self.found.standing)
        if rolled_out(rollout.percent, policy.name, key):
            return ""
        return f"rollout: this workload is not among the first {rollout.percent} of 100"

    def _all_hold(self, policy: CompiledPolicy, answers: Sequence[bool | EvaluationError]) -> bool:
        """Combine the answers of a policy's conditions that were asked with all others.

        Raises:
            EvaluationError: as ``combine`` says.
        """
        if self._watch is not None:
            for (_, bound), answer in zip(policy.conditions, answers, strict=True):
                self._watch.answered(policy, bound, self._activate(None), answer)
        holds = combine(policy, answers)
        if not holds:
            name, _ = policy.conditions[list(answers).index(False)]
            self._pass_over(policy, f"matchConditions {name}: false")
        return holds

    def _pass_over(self, policy: CompiledPolicy, why: str) -> None:
        if self._watch is not None:
            self._watch.passed_over(policy, why)

    def _answers_of(self, index: int, policy: CompiledPolicy) -> Sequence[bool | EvaluationError] | None:
        """Return what the policy's conditions answered together with all others; None where that does not hold."""
        span = self.plan.slices[index]
        outdated = self._written and meets(self._written, parts_of(policy.conditions_read))
        return None if span is None or outdated else self._answers[span]

    def _activate(self, params: Mapping[str, Any] | None) -> Activation:
        """Return the activation of the pod as it is; the one without params is shared by all policies."""
        if params is None and self._activation is not None:
            return self._activation
        bindings = {
            "object": self._pod,
            "gpu": self.state.gpu.as_cel(),
            "gang": self.state.gang.as_cel(),
            "oldObject": self.request.old_object,
            "request": self.request.envelope,
            "params": params,
            "namespaceObject": self.snapshot.facts.namespaces.get(self.request.namespace),
        }
        activation = self.snapshot.environment.activation(bindings, self.state.review)
        if params is None:
            self._activation = activation
        return activation

    def _match_request(self) -> MatchRequest:
        request = self.request
        return MatchRequest(
            operation=request.operation,
            group=request.group,
            version=request.version,
            resource=request.resource,
            sub_resource=request.sub_resource,
            name=request.name,
            namespace=request.namespace,
            object=self._pod,
            old_object=request.old_object,
        )

    def _params(self, policy: CompiledPolicy) -> list[Mapping[str, Any] | None]:
        """Return the params objects to evaluate with: one None for a policy without, nothing where they may be missing.

        Raises:
            SetUpError: params are missing and parameterNotFoundAction is Deny.
        """
        reference = policy.source.spec.param_ref
        if reference is None:
            return [None]
        config_maps = self.snapshot.facts.config_maps
        namespace = reference.namespace or self.request.namespace
        found: list[Mapping[str, Any] | None]
        if reference.name is not None:
            one = config_maps.get((namespace, reference.name))
            found = [] if one is None else [one]
        else:
            selector = reference.selector or {}
            found = [
                config_map
                for (where, _), config_map in sorted(config_maps.items(), key=lambda item: item[0])
                if where == namespace and label_selector_matches(selector, pods.labels(config_map))
            ]
        if not found and reference.parameter_not_found_action == "Deny":
            wanted = reference.name or "that the selector selects"
            raise SetUpError(f"params: no ConfigMap {wanted} in namespace {namespace}")
        return found
