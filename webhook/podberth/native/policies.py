"""Evaluates ValidatingAdmissionPolicies with their bindings and params on the creation of an object.

The order of the evaluations and the messages are those of the API server
(pkg/admission/plugin/policy/validating/dispatcher.go and validator.go of apiserver): each policy, each of its bindings,
each params object. The module ``policy.evaluate`` evaluates the expressions, as for GPUPolicies. If podberth cannot
evaluate something, the result is a decision that says so, and never an admission.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ..cel.engine import Activation, Expression
from ..errors import EvaluationError, UndecidedError
from ..policy.evaluate import ConditionsError, Failure
from ..policy.match import SetUpError
from .cases import (
    BoundPolicies,
    Case,
    Document,
    NativeDecision,
    cause_of,
    is_exempt,
    lacking,
    leading,
    misconfigured,
    of_conditions,
)
from .request import Creation

CODES: Final[Mapping[str, int]] = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}
"""The HTTP status of a denial, by the validation's reason (reasonToCode)."""


class NativePolicies(BoundPolicies):
    """The compiled ValidatingAdmissionPolicies of the given documents, with the policies' bindings."""

    def judge(self, creation: Creation) -> tuple[bool, list[NativeDecision]]:
        """Return (whether any policy with a binding matched the creation, all decisions in order)."""
        matched, decisions = False, list[NativeDecision]()
        for each in () if is_exempt(creation.kind) else self.bound:
            found = self.cases(each, creation)
            for item in found:
                if isinstance(item, NativeDecision):
                    decisions.append(item)
                    continue
                matched = True
                decisions += self._decide(item)
        return matched or bool(decisions), decisions

    def _decide(self, case: Case) -> Iterator[NativeDecision]:
        policy, creation = case.bound.policy, case.creation
        if case.kind != creation.kind and not (case.kind.renamed and creation.kind.renamed):
            message = f"it matches {case.kind.api_version}, and podberth does not convert {creation.kind.api_version}"
            yield case.decision("unjudged", f"{message} {creation.kind.kind}; write it in that version")
            return
        try:
            params = self.params(policy, case)
        except SetUpError as error:
            yield from lacking(case)
            yield from misconfigured(policy, case.binding.metadata.name, str(error))
            return
        if not params:
            yield from lacking(case)
        audit: dict[str, list[str]] = {}
        for each in params:
            yield from self._evaluate(case, each, audit)
        for key, values in audit.items():
            yield case.decision("audit", f"{policy.name}/{key}: {', '.join(values)}")

    def _evaluate(self, case: Case, params: Document | None, audit: dict[str, list[str]]) -> Iterator[NativeDecision]:
        """Yield the decisions of a case with one params object (validator.Validate).

        The values of audit annotations are added to ``audit``.
        """
        try:
            if not self.meets(self.evaluation(case, params, None), params):
                return
        except ConditionsError as error:
            yield from of_conditions(case, error)
            return
        evaluation = self.evaluation(case, params, case.namespace)
        for failure in evaluation.failures():
            yield from _of_failure(case, failure, evaluation.activation)
        for key, value in evaluation.audit_annotations().items():
            if isinstance(value, EvaluationError):
                expression = dict(case.bound.compiled.audit_annotations)[key]
                yield from _of_annotation(case, expression, value, evaluation.of_texts or evaluation.activation)
            else:
                values = audit.setdefault(key, [])
                values += [value] if value not in values else []


def _of_failure(case: Case, failure: Failure, activation: Activation) -> Iterator[NativeDecision]:
    if failure.cause is None:
        yield from case.enforced(failure.message, failure.reason)
        stated = case.bound.compiled.validations[failure.index].message_expression
        if failure.unfinished and stated is not None:
            yield case.decision("unjudged", f"{leading(stated)}{failure.unfinished}")
        return
    expression = case.bound.compiled.validations[failure.index].expression
    message = f"{leading(expression)}{cause_of(case.bound.compiled, expression, failure.cause, activation)}"
    if isinstance(failure.cause, UndecidedError):
        yield case.decision("unjudged", message)
    elif case.is_fatal:
        yield from case.enforced(message, "Invalid")


def _of_annotation(
    case: Case, expression: Expression, error: EvaluationError, activation: Activation
) -> Iterator[NativeDecision]:
    """Yield the denial for an audit annotation that failed; the validationActions of the binding do not matter."""
    message = f"{leading(expression)}{cause_of(case.bound.compiled, expression, error, activation)}"
    if isinstance(error, UndecidedError):
        yield case.decision("unjudged", message)
    elif case.is_fatal:
        yield case.decision("deny", message)
