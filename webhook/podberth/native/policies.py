"""Evaluates ValidatingAdmissionPolicies with their bindings and params on the creation of an object.

The order of the evaluations and the messages are those of the API server
(pkg/admission/plugin/policy/validating/dispatcher.go and validator.go of apiserver): each policy, each of its bindings,
each params object. The module ``policy.evaluate`` evaluates the expressions, as for GPUPolicies. If podberth cannot
evaluate something, the result is a decision that says so, and never an admission.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ..cel.engine import Activation
from ..errors import EvaluationError, UndecidedError
from ..policy.evaluate import Failure
from .cases import BoundPolicies, Case, Document, NativeDecision, error_of, failed, is_exempt, leading
from .request import Creation

CODES: Final[Mapping[str, int]] = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}
"""The HTTP status of a denial, by the validation's reason (reasonToCode)."""


class NativePolicies(BoundPolicies):
    """The compiled ValidatingAdmissionPolicies of the given documents, with the policies' bindings."""

    def judge(self, creation: Creation) -> tuple[bool, list[NativeDecision]]:
        """Return (whether any policy with a binding matched the creation, all decisions in order)."""
        matched, decisions = False, list[NativeDecision]()
        for each in () if is_exempt(creation.kind) else self.bound:
            for item in self.cases(each, creation):
                if isinstance(item, NativeDecision):
                    decisions.append(item)
                    continue
                matched = True
                self._decide(item, decisions)
        return matched or bool(decisions), decisions

    def _decide(self, case: Case, decisions: list[NativeDecision]) -> None:
        creation = case.creation
        if case.kind != creation.kind and not (case.kind.renamed and creation.kind.renamed):
            message = f"it matches {case.kind.api_version}, and podberth does not convert {creation.kind.api_version}"
            decisions.append(case.decision("unjudged", f"{message} {creation.kind.kind}; write it in that version"))
            return
        audit: dict[str, list[str]] = {}
        for each in self.params(case, decisions):
            self._evaluate(case, each, audit, decisions)
        for key, values in audit.items():
            decisions.append(case.decision("audit", f"{case.bound.policy.name}/{key}: {', '.join(values)}"))

    def _evaluate(
        self, case: Case, params: Document | None, audit: dict[str, list[str]], decisions: list[NativeDecision]
    ) -> None:
        """Add the decisions of a case with one params object to ``decisions`` (validator.Validate).

        The values of audit annotations are added to ``audit``.
        """
        if not self.meets(case, params, decisions):
            return
        evaluation = self.evaluation(case, params, case.namespace)
        for failure in evaluation.failures():
            decisions += _of_failure(case, failure, evaluation.activation)
        for key, value in evaluation.audit_annotations().items():
            if isinstance(value, EvaluationError):
                # The validationActions of the binding do not matter.
                expression = dict(case.bound.compiled.audit_annotations)[key]
                message = error_of(case.bound.compiled, expression, value, evaluation.of_texts or evaluation.activation)
                decisions += failed(case, message, unfinished=isinstance(value, UndecidedError))
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
    message = error_of(case.bound.compiled, expression, failure.cause, activation)
    if isinstance(failure.cause, UndecidedError):
        yield case.decision("unjudged", message)
    elif case.is_fatal:
        yield from case.enforced(message, "Invalid")
