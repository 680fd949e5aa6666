"""The explanation of the decisions on a pod, with the value of every expression.

The code that decides reports its steps to a watch (``policy.evaluate.Watch``, ``decide.mutate_with_writes``). Only the
values of an expression's parts are evaluated separately, by the same engine with the same names (``cel.trace``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..cel.engine import Activation
from ..cel.trace import ExpressionResult, Traced, Tracer
from ..errors import EvaluationError
from ..kube.patch import Patch, apply
from ..kube.positions import render_path
from ..policy.compile import BoundExpression, CompiledPolicy
from ..policy.evaluate import Params
from ..policy.expressions import Placed, expressions_of
from .checked import checked_pod
from .decide import mutate_with_writes, validate
from .outcome import Decision, Outcome, Written
from .review import AdmissionRequest
from .snapshot import Phase, Snapshot, takes_part

Verdict: TypeAlias = Literal["mutated", "unchanged", "denied"]

_RULES = "matchConstraints: its rules do not name the creation of pods"
_DENIED = "not asked: the pod was denied before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """One expression of a policy, with the value or the error that it had in the decision."""

    path: str
    """The path of the expression in the policy, such as ``spec.matchConditions[0].expression``."""
    answer: ExpressionResult
    tree: Traced | None
    """The parts of the expression with their values; None if the expression is a literal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyExplained:
    """The explanation of one policy's part in one decision on a pod's creation, by /mutate or by /validate."""

    phase: Phase
    matched: bool
    why: str
    """The reason why the policy did not match; empty if it matched."""
    params: tuple[str, ...]
    """The ConfigMaps with which the policy was evaluated, as ``namespace/name``."""
    expressions: tuple[Evaluated, ...]
    """The expressions in the order of their evaluation; each occurs once for each params object."""
    variables: tuple[Evaluated, ...]
    """The variables that the evaluation of these expressions needed, in the policy's order."""
    written: tuple[Written, ...]
    """The writes of the policy's mutations on the pod."""
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """The explanations of one policy: for /mutate, then for /validate.

    A review in which the policy has no entries, such as /mutate for a policy without mutations, is left out.
    """

    policy: str
    description: str
    order: int
    askings: tuple[PolicyExplained, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of the creation of one pod. ``pod`` is the pod to be stored; None if /mutate denies it."""

    verdict: Verdict
    warnings: tuple[str, ...]
    denial: str
    patch: Patch
    pod: dict[str, Any] | None
    policies: tuple[Explained, ...]
    """The policies in the order of their evaluation."""


def explain(
    request: AdmissionRequest, snapshot: Snapshot, *, policy: str = "", tracers: dict[str, Tracer] | None = None
) -> Explanation:
    """Decide on the creation of a pod by /mutate and /validate, and explain the decisions of all policies or of one.

    With ``policy`` only the policy of this name is explained. ``tracers`` caches tracers by policy name. The call adds
    to it, and later calls with the same policies use it.

    Raises:
        ReviewError: an object of the review is not a pod.
    """
    own = snapshot.namespaced.get(request.namespace, ())
    explained = [each for each in (*snapshot.policies, *own) if policy in ("", each.name)]
    kept = {} if tracers is None else tracers
    asked = {phase: _Notes(snapshot, {each.name for each in explained}, kept) for phase in _PHASES}
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
        policies=tuple(_explained(each, asked, outcomes, written) for each in explained),
    )


_PHASES: tuple[Phase, ...] = ("mutate", "validate")


def _explained(
    policy: CompiledPolicy,
    asked: Mapping[Phase, "_Notes"],
    outcomes: Mapping[Phase, Outcome],
    written: Iterable[Written],
) -> Explained:
    askings = []
    for phase in _PHASES:
        if not takes_part(phase, policy):
            continue
        note = asked[phase].of.get(policy.name, _Note())
        everything = outcomes[phase].decisions if phase in outcomes else ()
        decisions = tuple(each for each in everything if each.policy == policy.name)
        faults = [f"could not be asked: {each.message}" for each in decisions if each.action in ("deny", "error")]
        why = next(filter(None, [note.why, *faults]), _RULES if phase in outcomes else _DENIED)
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
            )
        )
    spec = policy.source.spec
    return Explained(policy=policy.name, description=spec.description, order=spec.order, askings=tuple(askings))


@dataclass(slots=True, kw_only=True)
class _Note:
    """The observations about one policy in one review, while the review is decided."""

    matched: bool = False
    why: str = ""
    params: list[str] = field(default_factory=list)
    expressions: list[Evaluated] = field(default_factory=list)
    variables: dict[int, Evaluated] = field(default_factory=dict)
    """The variables that were evaluated, by their index among the policy's variables."""


class _Notes:
    """The watch of one review: it collects the observations about each policy."""

    def __init__(self, snapshot: Snapshot, wanted: set[str], tracers: dict[str, Tracer]) -> None:
        self.of: dict[str, _Note] = {}
        self._wanted = wanted
        self._snapshot = snapshot
        self._tracers = tracers
        self._places: dict[str, list[Placed]] = {}

    def passed_over(self, policy: CompiledPolicy, why: str) -> None:
        if policy.name in self._wanted:
            self._note(policy).why = why

    def matched(self, policy: CompiledPolicy, params: Params | None) -> None:
        if policy.name not in self._wanted:
            return
        note = self._note(policy)
        note.matched = True
        if params is not None:
            metadata = params["metadata"]
            note.params.append(f"{metadata.get('namespace', '')}/{metadata['name']}")

    def answered(
        self, policy: CompiledPolicy, bound: BoundExpression, activation: Activation, answer: Any | EvaluationError
    ) -> None:
        if policy.name not in self._wanted:
            return
        note, tracer = self._note(policy), self._tracers[policy.name]
        path = next(each.path for each in self._places[policy.name] if each.bound is bound)
        error = str(answer) if isinstance(answer, EvaluationError) else ""
        source = bound.expression.source
        note.expressions.append(
            Evaluated(
                path=render_path(path),
                answer=ExpressionResult(value=None if error else answer, error=error),
                tree=tracer.trace(source, activation),
            )
        )
        reached = tracer.reached(source, activation)
        for index, variable in enumerate(policy.source.spec.variables):
            if variable.name in reached and index not in note.variables:
                note.variables[index] = Evaluated(
                    path=f"variables.{variable.name}",
                    answer=reached[variable.name],
                    tree=tracer.trace(policy.variables[variable.name].expression.source, activation),
                )

    def _note(self, policy: CompiledPolicy) -> _Note:
        if policy.name not in self.of:
            if policy.name not in self._tracers:
                variables = {name: bound.expression for name, bound in policy.variables.items()}
                self._tracers[policy.name] = Tracer(self._snapshot.environment, variables)
            self._places[policy.name] = list(expressions_of(policy))
            self.of[policy.name] = _Note()
        return self.of[policy.name]
