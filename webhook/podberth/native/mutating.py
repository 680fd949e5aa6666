"""Evaluates MutatingAdmissionPolicies on the creation of an object, and returns the object with their mutations.

Source: pkg/admission/plugin/policy/mutating/dispatcher.go of apiserver. The API server evaluates the policies in no
fixed order; this module evaluates them in the order of their names. Each policy is evaluated with each of its
bindings and each params object. A mutation gets the object with the changes of earlier mutations. If a mutation fails,
failurePolicy Fail denies the request, and the other mutations are evaluated nevertheless. After at least one mutation
was evaluated, the policies with reinvocationPolicy IfNeeded are evaluated once more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from ..cel.engine import Environment, Expression, Room, Want
from ..errors import EvaluationError, UndecidedError
from ..kube.json_patch import same
from ..kube.paths import Path
from ..kube.unchecked import text_at
from ..policy.compile import CompiledPolicy
from .cases import Bound, BoundPolicies, Case, Document, NativeDecision, error_of, failed, is_exempt
from .documents import Policy
from .model import MUTATING, MutatingSpec, NativeMutation
from .patches import InternalError, UnjudgedError, applied
from .request import Creation

_WANTS: Final = {"ApplyConfiguration": Want.OBJECT, "JSONPatch": Want.JSON_PATCHES}
Key = tuple[str, str, str]
"""The key of one evaluation: the names of the policy, the binding and the params object."""


@dataclass(frozen=True, slots=True)
class NativeWrite:
    """The change of an object by one policy with one binding: the object before and after."""

    policy: str
    binding: str
    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def reason(self) -> str:
        """The line for the user that names the policy and the binding."""
        return f"MutatingAdmissionPolicy '{self.policy}' with binding '{self.binding}'"


@dataclass(slots=True)
class Mutated:
    """The result of all mutating policies for one object."""

    creation: Creation
    """The request, with the object after the policies' mutations."""
    matched: bool = False
    decisions: list[NativeDecision] = field(default_factory=list)
    writes: list[NativeWrite] = field(default_factory=list)
    again: set[Key] = field(default_factory=set)
    """The evaluations that are repeated if something else changes the object (reinvocationPolicy IfNeeded)."""

    @property
    def is_over(self) -> bool:
        """Whether the API server answers with an internal error, and evaluates no further policy."""
        return any(each.reason == "InternalError" for each in self.decisions)

    @property
    def is_denied(self) -> bool:
        """Whether the API server refuses the object."""
        return any(each.action == "deny" for each in self.decisions)


class _Compiled(CompiledPolicy):
    """A compiled MutatingAdmissionPolicy with the policy's mutations."""

    def __init__(self, policy: Policy, environment: Environment) -> None:
        super().__init__(policy.parsed, environment, Room.of_policy(None), policy.names)
        spec = policy.model.spec
        self._stated: tuple[NativeMutation, ...] = spec.mutations if isinstance(spec, MutatingSpec) else ()

    @cached_property
    def patches(self) -> tuple[tuple[str, Path, Expression], ...]:
        """The compiled mutations of the policy: (patchType, path in the spec, expression) for each."""
        return self._part(self._compiled_patches())

    def _compiled_patches(self) -> Iterator[tuple[str, Path, Expression]]:
        names = self._names.others | {"jsonpatch"}
        for index, each in enumerate(self._stated):
            key, stated = "applyConfiguration", each.apply_configuration
            if each.patch_type == "JSONPatch":
                key, stated = "jsonPatch", each.json_patch
            path: Path = ("mutations", index, key, "expression")
            source = None if stated is None else stated.expression
            expression = self._expression(path, source, _WANTS[each.patch_type], names)
            if expression is not None:
                yield each.patch_type, path, expression


class MutatingPolicies(BoundPolicies):
    """The compiled MutatingAdmissionPolicies of the given documents, with the policies' bindings."""

    kind: ClassVar[str] = MUTATING

    def compiled(self, policy: Policy, environment: Environment) -> CompiledPolicy:
        """Return the policy as a CompiledPolicy. Each expression is compiled later, at its first use."""
        return _Compiled(policy, environment)

    def mutate(self, creation: Creation) -> Mutated:
        """Return the result of the policies for the creation of an object.

        The API server evaluates policies in no fixed order: that of a Go map, which it builds again after each change
        of a policy (policy/generic/policy_source.go). If the reverse order gives another object, a note says so.
        """
        done = self._mutated(creation, self.bound)
        if len({each.policy for each in done.writes}) > 1:
            other = self._mutated(creation, self.bound[::-1])
            if not same(other.creation.object, done.creation.object):
                message = "several policies write, and the API server asks them in no fixed order; judged by name"
                last = done.writes[-1]
                done.decisions.append(
                    NativeDecision(
                        policy=last.policy, binding=last.binding, action="note", message=message, kind=MUTATING
                    )
                )
        return done

    def _mutated(self, creation: Creation, bound: Sequence[Bound]) -> Mutated:
        done = Mutated(creation)
        if is_exempt(creation.kind):
            return done
        evaluated = self._pass(done, None, bound)
        if evaluated and done.again and not done.is_over:
            self._pass(done, set(done.again), bound)
        return done

    def once_more(self, creation: Creation, asked: set[Key]) -> Mutated:
        """Return the result of evaluating the policies in ``asked`` a second time, for a changed object."""
        done = Mutated(creation)
        self._pass(done, asked, self.bound)
        return done

    def _pass(self, done: Mutated, only: set[Key] | None, bound: Sequence[Bound]) -> bool:
        """Evaluate all policies of ``bound``, or those in ``only``, and add their changes and decisions to ``done``.

        Return whether a mutation was evaluated without an error.
        """
        evaluated = False
        # Which policies match, and with which params, is found out before the first of them writes
        for found, params in list(self._invocations(done, bound)):
            case = replace(found, creation=done.creation)
            if not self.meets(case, params, done.decisions):
                continue
            key = (case.bound.policy.name, case.binding.metadata.name, text_at(params or {}, "metadata", "name"))
            if only is not None and key not in only:
                continue
            evaluated = self._write(case, params, done) or evaluated
            if done.is_over:
                return False
            spec = case.bound.policy.model.spec
            if isinstance(spec, MutatingSpec) and spec.reinvocation_policy == "IfNeeded":
                done.again.add(key)
        return evaluated

    def _invocations(self, done: Mutated, every: Sequence[Bound]) -> Iterator[tuple[Case, Document | None]]:
        """Yield (case, params object) for each policy, binding and params object that match the creation in ``done``.

        An error that prevents an evaluation is added to ``done`` as a decision.
        """
        for bound in every:
            for case in self.cases(bound, done.creation):
                if isinstance(case, NativeDecision):
                    done.decisions.append(case)
                    continue
                done.matched = True
                if case.kind != done.creation.kind:
                    message = f"it matches {case.kind.api_version}, and podberth does not convert to it"
                    done.decisions.append(case.decision("unjudged", message))
                    continue
                yield from ((case, each) for each in self.params(case, done.decisions))

    def _write(self, case: Case, params: Document | None, done: Mutated) -> bool:
        """Evaluate a policy's mutations in order; return whether at least one was evaluated without an error."""
        compiled, before, evaluated = case.bound.compiled, done.creation, False
        for kind, _, expression in compiled.patches:
            case = replace(case, creation=done.creation)
            evaluation = self.evaluation(case, params, case.namespace)
            try:
                value = evaluation.value(expression)
            except EvaluationError as error:
                message = error_of(compiled, expression, error, evaluation.activation)
                done.decisions += failed(case, message, unfinished=isinstance(error, UndecidedError))
                continue
            try:
                made = applied(case.kind, kind, case.creation.object, value)
            except UnjudgedError as error:
                done.decisions += failed(case, str(error), unfinished=True)
            except InternalError as error:
                message = f"Internal error occurred: {error}"
                done.decisions = [case.decision("deny", message, "InternalError")]
                return False
            except EvaluationError as error:
                done.decisions += failed(case, str(error), unfinished=False)
            else:
                done.creation, evaluated = replace(done.creation, object=made), True
        if not same(before.object, done.creation.object):
            names = case.bound.policy.name, case.binding.metadata.name
            done.writes.append(NativeWrite(*names, dict(before.object), dict(done.creation.object)))
        return evaluated
