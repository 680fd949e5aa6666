"""Explains native policies for ``podberth explain``: the decision of each policy, and the values of its expressions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..admission.explain import Explained, Explanation, Note, Notes, PolicyExplained
from ..admission.outcome import Action, Decision, Written
from ..admission.snapshot import Phase
from ..cel.trace import Tracer
from ..kube.patch import Patch, apply, operations
from ..native.cases import Bound, NativeDecision
from ..native.judge import NativeJudge
from ..native.model import MUTATING, VALIDATING
from ..native.mutating import Mutated

_PHASES: Final[Mapping[str, Phase]] = {MUTATING: "mutate", VALIDATING: "validate"}
_ACTIONS: Final[Mapping[str, Action]] = {
    "deny": "deny",
    "warn": "warn",
    "audit": "audit",
    "note": "skip",
    "unjudged": "error",
}
_NOT_ASKED: Final = "not asked: the object was denied before"


@dataclass(slots=True)
class NativeExplainer:
    """Explains the native policies that ``judge`` evaluates.

    If ``policy`` is not empty, only the policies with that name are explained.
    """

    judge: NativeJudge
    policy: str
    _tracers: dict[str, dict[str, Tracer]] = field(default_factory=lambda: {kind: {} for kind in _PHASES})

    @property
    def names(self) -> set[str]:
        """The names of all policies."""
        return {bound.policy.name for _, bound in self.judge.bound}

    def on_object(self) -> "ExplainedByNatives":
        """Return a new, empty explanation; the caller passes the object to the explanation's methods."""
        wanted = {self.policy} & self.names if self.policy else self.names
        environment = self.judge.environment
        notes = {kind: Notes(environment, wanted, self._tracers[kind]) for kind in _PHASES}
        explained = [(kind, bound) for kind, bound in self.judge.bound if bound.policy.name in wanted]
        return ExplainedByNatives(self.judge.watched(notes), notes, explained)


@dataclass(slots=True)
class ExplainedByNatives:
    """The decisions of native policies on one object, in the order in which the API server evaluates the policies."""

    _judge: NativeJudge
    _notes: Mapping[str, Notes]
    _explained: list[tuple[str, Bound]]
    _mutated: Mutated | None = None
    _decisions: list[NativeDecision] = field(default_factory=list)
    _problems: list[str] = field(default_factory=list)
    _validated: bool = False

    def mutate(self, document: dict[str, Any]) -> Patch:
        """Evaluate MutatingAdmissionPolicies for an object; return the JSON patch of their changes."""
        self._mutated = self._judge.mutated(document)
        if self._mutated is None:
            return []
        self._decisions += self._mutated.decisions
        return [operation for each in self._mutated.writes for operation in operations(each.before, each.after)]

    def ask_again(self, pod: Mapping[str, Any]) -> None:
        """Evaluate the policies that the API server evaluates again after podberth's webhook, and keep their decisions.

        ``pod`` is the pod with podberth's writes.
        """
        if self._mutated is not None:
            self._decisions += self._judge.asked_again(self._mutated, pod)

    def validate(self, document: Mapping[str, Any]) -> None:
        """Evaluate ValidatingAdmissionPolicies for an object after all mutations."""
        judged = self._judge.judged(document)
        self._decisions += judged.decisions
        self._problems += judged.problems
        self._validated = True

    @property
    def denials(self) -> list[str]:
        """The messages of the policies that deny the object."""
        return [each.text for each in self._decisions if each.action == "deny"]

    @property
    def unjudged(self) -> tuple[str, ...]:
        """The messages about decisions that podberth cannot predict."""
        return (*self._problems, *(each.text for each in self._decisions if each.action == "unjudged"))

    @property
    def concerns(self) -> bool:
        """Whether any policy applies to the object, or could not be judged."""
        matched = any(note.matched for notes in self._notes.values() for note in notes.of.values())
        return matched or bool(self._decisions or self._problems)

    def of_object(self, document: dict[str, Any]) -> Explanation:
        """Return the explanation of an object that only native policies decide on."""
        patch = self.mutate(document)
        after = apply(document, patch)
        if not self.denials:
            self.validate(after)
        bare = Explanation(verdict="unchanged", warnings=(), denial="", patch=[], pod=after, policies=())
        return self.joined(bare, patch)

    def joined(self, explanation: Explanation, patch: Patch) -> Explanation:
        """Return an explanation with the decisions of native policies added.

        The changes in ``patch``, which native policies made, precede the changes in the explanation.
        """
        denial = "\n".join(filter(None, (*self.denials, explanation.denial)))
        warnings = tuple(each.text for each in self._decisions if each.action == "warn")
        verdict = explanation.verdict if explanation.verdict != "unchanged" or not patch else "mutated"
        return replace(
            explanation,
            verdict="denied" if denial else verdict,
            warnings=(*warnings, *explanation.warnings),
            denial=denial,
            patch=[*patch, *explanation.patch],
            policies=(*self._policies(MUTATING), *explanation.policies, *self._policies(VALIDATING)),
        )

    def _policies(self, kind: str) -> Iterable[Explained]:
        for each, bound in self._explained:
            if each == kind:
                asking = self._asking(kind, bound)
                yield Explained(policy=bound.policy.name, description="", order=0, askings=(asking,), kind=kind)

    def _asking(self, kind: str, bound: Bound) -> PolicyExplained:
        name = bound.policy.name
        note = self._notes[kind].of.get(name, Note())
        decisions = [each for each in self._decisions if each.kind == kind and each.policy == name]
        why = note.why or ("no binding names it" if not bound.bindings else "")
        if kind == VALIDATING and not self._validated:
            why = _NOT_ASKED
        writes = self._mutated.writes if self._mutated and kind == MUTATING else ()
        return PolicyExplained(
            phase=_PHASES[kind],
            matched=note.matched,
            why="" if note.matched else why or "it cannot be judged",
            params=tuple(note.params),
            expressions=tuple(note.expressions),
            variables=tuple(each for _, each in sorted(note.variables.items())),
            written=tuple(
                Written(policy=name, mutation=each.binding, reason="", patch=operations(each.before, each.after))
                for each in writes
                if each.policy == name
            ),
            decisions=tuple(Decision(name, _ACTIONS[each.action], each.text) for each in decisions),
        )
