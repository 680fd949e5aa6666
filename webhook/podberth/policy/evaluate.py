"""Evaluates one policy's expressions for one pod, with the error semantics of ValidatingAdmissionPolicy.

This module only evaluates; ``admission`` acts on the results. An error never counts as "no match": the error is raised
as EvaluationError, and the caller applies the policy's failurePolicy.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..cel.engine import Activation, Expression
from ..errors import EvaluationError, UndecidedError
from .compile import CompiledMutation, CompiledPolicy, CompiledValidation

# "If the result of the valueExpression is more than 10kb in length, it will be truncated to 10kb."
# (kubernetes/api admissionregistration/v1/types.go AuditAnnotation)
MAX_AUDIT_VALUE_BYTES = 10 * 1024
# MaxEvaluatedMessageExpressionSizeBytes (apiserver pkg/apis/cel/config.go)
MAX_MESSAGE_BYTES = 5 * 1024

Params: TypeAlias = Mapping[str, Any]
"""A params object of a policy: a ConfigMap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A mutation of a policy that applies to the pod, with the values of its expressions.

    ``reason`` is the text with which the policy explains the change; empty if it has none.
    """

    mutation: CompiledMutation
    leaves: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A validation that a pod fails: the validation's expression is false, or could not be evaluated."""

    message: str
    reason: str
    """The status reason; ``Invalid`` for an error, whatever reason the validation states (as the API server,
    validator.go).
    """
    cause: EvaluationError | None = None
    """The error of the validation's evaluation; None if the validation is false."""
    index: int = 0
    """The index of the validation in the policy."""
    unfinished: str = ""
    """The error if messageExpression exceeded the CEL engine's iterations; ``message`` is then the fixed message."""

    @property
    def error(self) -> bool:
        """Whether the validation could not be evaluated."""
        return self.cause is not None


class ConditionsError(EvaluationError):
    """The evaluation of at least one matchCondition failed, and no matchCondition is false."""

    def __init__(self, failed: Sequence[tuple[str, Expression, EvaluationError]]) -> None:
        """Create the error with a message about the first failed condition.

        ``failed`` has (name, expression, error) for each failed condition.
        """
        name, _, error = failed[0]
        super().__init__(f"matchConditions {name}: {error}")
        self.failed = tuple(failed)


class Watch(Protocol):
    """An observer of a decision: the deciding code calls a method at each step.

    The server has no such observer. An observer may keep the arguments of a method, but must not modify them.
    """

    def passed_over(self, policy: CompiledPolicy, why: str) -> None:
        """Record that a policy does not apply; ``why`` begins with the name of the field that excludes the pod."""

    def matched(self, policy: CompiledPolicy, params: Params | None) -> None:
        """Record that a policy matches, and will now be evaluated with the params object ``params``."""

    def answered(
        self, policy: CompiledPolicy, expression: Expression, activation: Activation, answer: Any | EvaluationError
    ) -> None:
        """Record an expression's value or error, with the variables for which the expression was evaluated."""

    def left_out(self, policy: CompiledPolicy, mutation: CompiledMutation, why: str) -> None:
        """Record why a mutation writes nothing, where no decision has the reason."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Evaluates the policy's expressions for one pod and one params object, which ``activation`` binds."""

    policy: CompiledPolicy
    activation: Activation
    watch: Watch | None = None
    of_texts: Activation | None = None
    """The variables of messageExpressions and auditAnnotations, if they differ from those of other expressions."""

    def value(self, expression: Expression, variables: Activation | None = None) -> Any:
        """Return the expression's value as plain Python; ``variables`` replaces ``activation``.

        Raises:
            EvaluationError: the evaluation failed.
        """
        activation = variables or self.activation
        if self.watch is None:
            return expression.evaluate(activation)
        try:
            answer = expression.evaluate(activation)
        except EvaluationError as error:
            self.watch.answered(self.policy, expression, activation, error)
            raise
        self.watch.answered(self.policy, expression, activation, answer)
        return answer

    def conditions(self) -> bool:
        """Return whether all matchConditions are true; the conditions are evaluated one by one.

        Raises:
            ConditionsError: no condition is false, and at least one failed.
        """
        answers: list[bool | EvaluationError] = []
        for _, each in self.policy.conditions:
            try:
                answers.append(self.value(each))
            except EvaluationError as error:
                answers.append(error)
        holds = combine(self.policy, answers)
        if not holds and self.watch is not None:
            self.watch.passed_over(self.policy, false_condition(self.policy, answers))
        return holds

    def mutations(self) -> list[Asked]:
        """Return the mutations that apply, in the policy's order.

        A mutation is left out if its condition ``when`` is false, or if an expression is null where null means no
        change. The results lack the values of ``CompiledMutation.facts``: the caller reads these fields without CEL.

        Raises:
            EvaluationError: an expression of a mutation failed; none of the policy's mutations applies then.
        """
        asked = (self._ask(mutation) for mutation in self.policy.mutations)
        return [entry for entry in asked if entry is not None]

    def _ask(self, mutation: CompiledMutation) -> Asked | None:
        try:
            if mutation.when is not None and not self._traced(mutation.when):
                return None
            leaves = {name: _named(mutation, self._traced(each)) for name, each in mutation.leaves.items()}
            reason = "" if mutation.reason is None else self._traced(mutation.reason) or ""
        except EvaluationError as error:
            raise EvaluationError(f"{mutation.name}: {error}") from error
        if any(value is None and name not in mutation.nullable for name, value in leaves.items()):
            return None
        return Asked(mutation=mutation, leaves={**leaves, **mutation.literals}, reason=reason)

    def _traced(self, expression: Expression) -> Any:
        """Return an expression's value, as ``value`` does.

        If a variable of the expression failed, the error names it.
        """
        try:
            return self.value(expression)
        except EvaluationError as error:
            raise EvaluationError(f"{self._culprit(expression, error)}{error}") from error

    def _culprit(self, expression: Expression, error: EvaluationError) -> str:
        """Return the text ``variables.<name>: `` for a message, with the variable in which ``error`` occurred.

        The text is empty if the error occurred in the expression ``expression`` itself.
        """
        *_, name = ("", *failing_variables(self.policy, expression, error, self.activation))
        return f"variables.{name}: " if name else ""

    def failures(self) -> list[Failure]:
        """Return the validations that are false or failed; all are evaluated, as the API server does."""
        found = (self._fail(index, item) for index, item in enumerate(self.policy.validations))
        return [failure for failure in found if failure is not None]

    def audit_annotations(self) -> dict[str, str | EvaluationError]:
        """Return a mapping from the key of each audit annotation to its value, or to the error of its evaluation.

        Long values are truncated, and null or blank values are omitted.
        """
        found: dict[str, str | EvaluationError] = {}
        for key, each in self.policy.audit_annotations:
            try:
                value = (self.value(each, self.of_texts) or "").strip().encode()
            except EvaluationError as error:
                found[key] = error
            else:
                found |= {key: value[:MAX_AUDIT_VALUE_BYTES].decode(errors="ignore")} if value else {}
        return found

    def _fail(self, index: int, item: CompiledValidation) -> Failure | None:
        try:
            if self.value(item.expression):
                return None
        except EvaluationError as error:
            # A new error, because failures are cached, and the traceback of the raised error keeps the activation.
            cause = type(error)(str(error))
            source = item.expression.source
            message = f"cannot be decided: {source}: {self._culprit(item.expression, error)}{error}"
            return Failure(message, "Invalid", cause, index)
        message, unfinished = self._message(item)
        return Failure(message, item.reason, None, index, unfinished)

    def _message(self, item: CompiledValidation) -> tuple[str, str]:
        """Return (message of a failed validation, error), each as text.

        The error is empty, except if messageExpression needs more iterations than the CEL engine allows: then it is
        unknown whether the API server can evaluate it. If messageExpression fails, or its value is blank, too long or
        has a line break inside, the message is the fixed message, as at the API server.
        """
        unfinished = ""
        if item.message_expression is not None:
            try:
                text = (self.value(item.message_expression, self.of_texts) or "").strip()
            except EvaluationError as error:
                text, unfinished = "", str(error) if isinstance(error, UndecidedError) else ""
            if text and "\n" not in text and len(text.encode(errors="replace")) <= MAX_MESSAGE_BYTES:
                return str(text), ""
        return item.fixed_message, unfinished


def combine(policy: CompiledPolicy, answers: Sequence[bool | EvaluationError]) -> bool:
    """Return whether all matchConditions are true; False if any is false, even if another failed.

    ``answers`` has the value or the error of each of the policy's matchConditions, in their order. Source: apiserver
    pkg/admission/plugin/webhook/matchconditions/matcher.go

    Raises:
        ConditionsError: no condition is false, and at least one failed.
    """
    if False in answers:  # an error never equals False
        return False
    failed = [
        (name, expression, answer)
        for (name, expression), answer in zip(policy.conditions, answers, strict=True)
        if isinstance(answer, EvaluationError)
    ]
    if failed:
        raise ConditionsError(failed)
    return True


def false_condition(policy: CompiledPolicy, answers: Sequence[bool | EvaluationError]) -> str:
    """Return the message that names the first matchCondition that is false; ``answers`` are those of ``combine``."""
    name, _ = policy.conditions[list(answers).index(False)]
    return f"matchConditions {name}: false"


def failing_variables(
    policy: CompiledPolicy, expression: Expression, error: EvaluationError, activation: Activation
) -> Iterator[str]:
    """Yield the names of the variables through which an expression fails with ``error``, the outermost first.

    Each variable reads the next one, and the last one is the variable whose own expression fails.
    """
    for name, variable in policy.variables.items():
        if name in expression.variables:
            try:
                variable.evaluate(activation)
            except EvaluationError as inner:
                if str(inner) == str(error):
                    yield name
                    yield from failing_variables(policy, variable, inner, activation)
                    return


def _named(mutation: CompiledMutation, value: Any) -> Any:
    """Return ``value``, a result of a mutation's expression, with the names of claim templates replaced.

    In each item of the mutation ``resourceClaims``, ``template`` is the name of a claim template of the policy. The
    name of the template's object replaces it. Any other value is returned unchanged.
    """
    if not (mutation.templates and isinstance(value, list)):
        return value
    names = mutation.templates
    return [
        {**item, "template": names.get(item["template"], item["template"])}
        if isinstance(item, dict) and isinstance(item.get("template"), str)
        else item
        for item in value
    ]
