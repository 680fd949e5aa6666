"""Explains the decisions on a pod: each policy's match and writes, and the value of every expression.

The decision itself reports its steps to a watch (``policy.evaluate.Watch``, ``decide.mutate_with_writes``). Only the
values of an expression's parts are evaluated separately, by the same CEL engine with the same variables
(``cel.trace``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from ..cel.engine import Activation, Environment, Expression
from ..cel.trace import ExpressionResult, Traced, Tracer
from ..errors import EvaluationError
from ..kube.patch import Patch, apply
from ..kube.positions import render_path
from ..policy.compile import CompiledMutation, CompiledPolicy
from ..policy.evaluate import Params
from ..policy.expressions import Placed, expressions_of
from ..policy.match import applies_statically
from ..policy.unfit import unfit
from ..wellknown import POLICY_KIND
from .checked import checked_pod
from .decide import mutate_with_writes, validate
from .matching import match_request
from .outcome import Decision, Outcome, Written
from .review import AdmissionRequest
from .snapshot import Phase, Snapshot, takes_part

Verdict: TypeAlias = Literal["mutated", "unchanged", "denied"]

_DENIED = "not asked: the pod was denied before"
_PHASES: tuple[Phase, ...] = get_args(Phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """One expression of a policy, with the value or the error that the expression had in the decision."""

    path: str
    """The path of the expression in the policy, such as ``spec.matchConditions[0].expression``."""
    answer: ExpressionResult
    tree: Traced | None
    """The parts of the expression with their values; None if the expression is a literal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyExplained:
    """The explanation of the decision by one policy on a pod's creation, in /mutate or in /validate."""

    phase: Phase
    matched: bool
    why: str
    """The reason why the policy did not match; empty if the policy matched."""
    params: tuple[str, ...]
    """The ConfigMaps that the policy was evaluated with as params, as ``namespace/name``."""
    expressions: tuple[Evaluated, ...]
    """The policy's expressions in the order of their evaluation; an expression occurs once for each ConfigMap in
    ``params``.
    """
    variables: tuple[Evaluated, ...]
    """The policy's CEL variables that ``expressions`` needed, in the policy's order."""
    written: tuple[Written, ...]
    """The changes that the policy's mutations made to the pod."""
    decisions: tuple[Decision, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """(The mutation's name, the reason) for each mutation that wrote nothing for a reason that no decision has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The explanations of one policy's decisions: in /mutate, then in /validate.

    A phase is left out if the policy has nothing to evaluate in the phase, such as /mutate for a policy without
    mutations.
    """

    policy: str
    description: str
    order: int
    askings: tuple[PolicyExplained, ...]
    kind: str = POLICY_KIND


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of all decisions on a pod's creation.

    ``pod`` is the pod that would be stored; None if /mutate denies the pod.
    """

    verdict: Verdict
    warnings: tuple[str, ...]
    denial: str
    patch: Patch
    pod: dict[str, Any] | None
    policies: tuple[Explained, ...]
    """The explanations of the policies, in the order in which the policies were evaluated."""


def explain(
    request: AdmissionRequest, snapshot: Snapshot, *, policy: str = "", tracers: dict[str, Tracer] | None = None
) -> Explanation:
    """Decide on the creation of a pod by /mutate and /validate, and explain the decisions.

    If ``policy`` is not empty, only the policy with that name is explained. ``tracers`` is a cache, by policy name, of
    the compiled parts of the policies' expressions: the call adds to the cache, and a later call with the same policies
    compiles no part again.

    Raises:
        ReviewError: an object of the review is not a pod.
    """
    own = snapshot.namespaced.get(request.namespace, ())
    explained = [each for each in (*snapshot.policies, *own) if policy in ("", each.name)]
    kept = {} if tracers is None else tracers
    wanted = {each.name for each in explained}
    asked = {phase: Notes(snapshot.environment, wanted, kept) for phase in _PHASES}
    mutated, written = mutate_with_writes(request, snapshot, asked["mutate"])
    outcomes: dict[Phase, Outcome] = {"mutate": mutated}
    pod = None
    if mutated.verdict != "denied":
        pod = apply(checked_pod(request), mutated.patch)
        outcomes["validate"] = validate(replace(request, object=pod), snapshot, asked["validate"])
    denial = next((each.denial for each in outcomes.values() if each.denial), "")
    return Explanation(
        verdict="denied" if denial else "mutated" if mutated.patch else "unchanged",
        warnings=tuple(text for each in outcomes.values() for text in each.warnings),
        denial=denial,
        patch=mutated.patch,
        pod=pod,
        policies=tuple(_explained(each, asked, outcomes, written, request) for each in explained),
    )


def _explained(
    policy: CompiledPolicy,
    asked: Mapping[Phase, "Notes"],
    outcomes: Mapping[Phase, Outcome],
    written: Iterable[Written],
    request: AdmissionRequest,
) -> Explained:
    askings = []
    for phase in _PHASES:
        if not takes_part(phase, policy):
            continue
        note = asked[phase].of.get(policy.name, Note())
        everything = outcomes[phase].decisions if phase in outcomes else ()
        decisions = tuple(each for each in everything if each.policy == policy.name)
        faults = [f"could not be asked: {each.message}" for each in decisions if each.action in ("deny", "error")]
        why = next(filter(None, [note.why, *faults]), _not_asked(policy, request) if phase in outcomes else _DENIED)
        askings.append(
            PolicyExplained(
                phase=phase,
                matched=note.matched,
                why="" if note.matched else why,
                params=tuple(note.params),
                expressions=tuple(note.expressions),
                variables=tuple(each for _, each in sorted(note.variables.items())),
                written=tuple(each for each in written if each.policy == policy.name) if phase == "mutate" else (),
                decisions=decisions,
                left_out=tuple(note.left_out),
            )
        )
    spec = policy.source.spec
    return Explained(policy=policy.name, description=spec.description, order=spec.order, askings=tuple(askings))


def _not_asked(policy: CompiledPolicy, request: AdmissionRequest) -> str:
    """Return why a policy was not evaluated: its rules, or a denial by an earlier policy."""
    route = (request.operation, request.group, request.version, request.resource, request.sub_resource)
    if applies_statically(policy.source, route):
        return _DENIED
    asked = match_request(request, request.object or {})
    return f"matchConstraints.{unfit(policy.source.spec.match_constraints, asked, {})}"


@dataclass(slots=True, kw_only=True)
class Note:
    """The match and the evaluated expressions of one policy in one review, collected while the review is decided."""

    matched: bool = False
    why: str = ""
    params: list[str] = field(default_factory=list)
    expressions: list[Evaluated] = field(default_factory=list)
    variables: dict[int, Evaluated] = field(default_factory=dict)
    """The policy's CEL variables that were evaluated, by the variable's index in the policy."""
    left_out: list[tuple[str, str]] = field(default_factory=list)


class Notes:
    """Observes the decision on one review (``policy.evaluate.Watch``), and collects a ``Note`` for each policy."""

    def __init__(self, environment: Environment, wanted: set[str], tracers: dict[str, Tracer]) -> None:
        """Create the object for the policies with the names ``wanted``; ``tracers`` is a cache by policy name."""
        self.of: dict[str, Note] = {}
        """The notes by policy name."""
        self._wanted = wanted
        self._environment = environment
        self._tracers = tracers
        self._places: dict[str, list[Placed]] = {}

    def passed_over(self, policy: CompiledPolicy, why: str) -> None:
        """Record the reason why a policy does not apply to the pod."""
        if policy.name in self._wanted:
            self._note(policy).why = why

    def matched(self, policy: CompiledPolicy, params: Params | None) -> None:
        """Record that a policy applies to the pod, with the params object."""
        if policy.name not in self._wanted:
            return
        note = self._note(policy)
        note.matched = True
        if params is not None:
            metadata = params["metadata"]
            note.params.append(f"{metadata.get('namespace', '')}/{metadata['name']}")

    def answered(
        self, policy: CompiledPolicy, expression: Expression, activation: Activation, answer: Any | EvaluationError
    ) -> None:
        """Record the value of an expression, of the parts of the expression, and of the variables that it needed."""
        if policy.name not in self._wanted:
            return
        note, tracer = self._note(policy), self._tracers[policy.name]
        path = next(each.path for each in self._places[policy.name] if each.expression is expression)
        is_error = isinstance(answer, EvaluationError)
        source = expression.source
        note.expressions.append(
            Evaluated(
                path=render_path(path),
                answer=ExpressionResult(error=str(answer)) if is_error else ExpressionResult.of(expression, answer),
                tree=tracer.trace(source, activation),
            )
        )
        reached = tracer.reached(source, activation)
        for index, variable in enumerate(policy.source.spec.variables):
            if variable.name in reached and index not in note.variables:
                note.variables[index] = Evaluated(
                    path=f"variables.{variable.name}",
                    answer=reached[variable.name],
                    tree=tracer.trace(policy.variables[variable.name].source, activation),
                )

    def left_out(self, policy: CompiledPolicy, mutation: CompiledMutation, why: str) -> None:
        """Record why a mutation writes nothing."""
        if policy.name in self._wanted:
            self._note(policy).left_out.append((mutation.name, why))

    def _note(self, policy: CompiledPolicy) -> Note:
        if policy.name not in self.of:
            if policy.name not in self._tracers:
                self._tracers[policy.name] = Tracer(self._environment, policy.variables)
            self._places[policy.name] = list(expressions_of(policy))
            self.of[policy.name] = Note()
        return self.of[policy.name]
