"""ValidatingAdmissionPolicies with their bindings and params, and what they decide on the creation of an object.

The order and the words are the API server's (pkg/admission/plugin/policy/validating/dispatcher.go and validator.go of
apiserver): each policy, each of its bindings, each params object. The expressions are evaluated by ``policy.evaluate``,
as those of GPUPolicies are. What cannot be judged here is a decision of its own, and never an admission.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..cel.engine import Activation, Environment, ReviewContext, Room
from ..errors import BudgetError, EvaluationError, Problem
from ..policy.compile import BoundExpression, CompiledPolicy
from ..policy.evaluate import ConditionsError, Evaluation, Failure
from ..policy.match import NamespaceUnknownError, applies_statically
from .documents import GROUP, Policy, Read
from .model import VALIDATING, ValidatingAdmissionPolicyBinding
from .params import Objects, SetUpFault
from .request import Creation, matched_kind
from .resources import ResourceKind, Resources

Action: TypeAlias = Literal["deny", "warn", "audit", "unjudged", "note"]
Document = Mapping[str, Any]
_REVIEWS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""The API groups whose objects are answered and not stored."""
_ACTIONS: Final[Mapping[str, Action]] = {"Deny": "deny", "Warn": "warn", "Audit": "audit"}
CODES: Final[Mapping[str, int]] = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}
"""The HTTP status of a denial by its reason (reasonToCode)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeDecision:
    """One decision of a policy: a denial, a warning, an entry of the audit log, or a word about how it was judged.

    The action ``unjudged`` means that podberth cannot say what the API server would do, ``note`` that the given files
    may lack something.
    """

    policy: str
    binding: str = ""
    """Empty if the policy itself is at fault, before any binding is looked at."""
    action: Action
    message: str
    reason: str = "Invalid"

    @property
    def text(self) -> str:
        """The message in the API server's words."""
        whose = f"ValidatingAdmissionPolicy '{self.policy}'"
        whose += f" with binding '{self.binding}'" if self.binding else ""
        if self.action == "deny":
            return f"{whose} denied request: {self.message}"
        if self.action == "unjudged":
            return f"{whose} is not judged: {self.message}"
        return f"{whose}: {self.message}" if self.action == "note" else f"Validation failed for {whose}: {self.message}"


@dataclass(frozen=True, slots=True)
class _Bound:
    """A compiled policy with its bindings."""

    policy: Policy
    compiled: CompiledPolicy
    bindings: tuple[ValidatingAdmissionPolicyBinding, ...]
    never: str
    """Why it judges no creation, whatever is created; empty if it may."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One evaluation of a policy: with a binding, on an object in one version, in its namespace."""

    bound: _Bound
    binding: ValidatingAdmissionPolicyBinding
    creation: Creation
    kind: ResourceKind
    namespace: Document | None

    @property
    def is_fatal(self) -> bool:
        """Whether an error denies."""
        return self.bound.policy.model.spec.failure_policy == "Fail"

    def decision(self, action: Action, message: str, reason: str = "Invalid") -> NativeDecision:
        """Return a decision of this policy with this binding."""
        return NativeDecision(
            policy=self.bound.policy.name,
            binding=self.binding.metadata.name,
            action=action,
            message=message,
            reason=reason,
        )

    def enforced(self, message: str, reason: str) -> Iterator[NativeDecision]:
        """Yield a decision for each of the binding's actions."""
        for action in self.binding.spec.validation_actions:
            yield self.decision(_ACTIONS[action], message, reason)


class NativePolicies:
    """Compiled policies with their bindings, params and namespaces."""

    def __init__(
        self,
        read: Read,
        environment: Environment,
        review: ReviewContext,
        objects: Objects,
        namespaces: Mapping[str, Document],
    ) -> None:
        """Compile the policies in the time of ``environment``; one that does not compile is a problem, and idle.

        ``environment`` has the names of native policies (``cel.typing.NATIVE_VARIABLES``); ``review`` is that of a
        cluster without nodes, since their expressions cannot ask about any.
        """
        self._environment, self._review = environment, review
        self._objects, self._namespaces = objects, namespaces
        problems, self._bound = list(read.problems), list[_Bound]()
        late = environment.deadline()
        for policy in read.policies:
            compiled = CompiledPolicy(policy.parsed, environment, Room.of_policy(None), policy.names)
            wrong = (*compiled.check(late, priced=False), *_repeated(policy))
            problems += wrong
            bindings = tuple(each for each in read.bindings if each.spec.policy_name == policy.name)
            if not wrong:
                why = _never_asked(policy, objects.resources) if bindings else ""
                self._bound.append(_Bound(policy, compiled, bindings, why))
        self.problems = tuple(sorted(problems))
        """What the API server refuses of the documents, or podberth cannot compile."""
        idle = (f"{VALIDATING} {each.policy.name} {each.never}" for each in self._bound if each.never)
        self.notes = (*read.notes, *_notes(read), *idle)
        """Lines for the user about policies and bindings that judge nothing, or are given twice."""

    def reads_user(self) -> list[str]:
        """Return the names of the policies that read ``request.userInfo``, which is not known before the request."""
        return [
            each.policy.name
            for each in self._bound
            if any(path[:2] == ("request", "userInfo") for path in _reads(each.compiled))
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies that judge: those that may match, with a binding and without a problem."""
        return tuple(each.policy.name for each in self._bound if each.bindings and not each.never)

    def may_match(self, api_version: str) -> bool:
        """Return whether a policy with a binding may match objects of an apiVersion, whatever their resource.

        With matchPolicy Equivalent the version does not count, since the resource may be served under several.
        """
        group, _, version = api_version.rpartition("/")
        return any(
            ({"*", group} & set(rule.api_groups))
            and (each.policy.constraints.match_policy == "Equivalent" or {"*", version} & set(rule.api_versions))
            for each in self._bound
            if each.bindings
            for rule in each.policy.constraints.resource_rules
            if {"*", "CREATE"} & set(rule.operations)
        )

    def judge(self, creation: Creation) -> tuple[bool, list[NativeDecision]]:
        """Return whether any policy with a binding matched the creation, and all decisions, in order."""
        matched, decisions = False, list[NativeDecision]()
        for each in () if _is_exempt(creation.kind) else self._bound:
            found = self._cases(each, creation)
            for item in found:
                if isinstance(item, NativeDecision):
                    decisions.append(item)
                    continue
                matched = True
                decisions += self._decide(item)
        return matched or bool(decisions), decisions

    def _cases(self, bound: _Bound, creation: Creation) -> Iterator["_Case | NativeDecision"]:
        """Yield a case for each binding that matches, or a denial if that cannot be found out."""
        policy = bound.policy
        try:
            kind = matched_kind(policy.constraints, creation, self._namespaces)
        except NamespaceUnknownError:
            yield from _misconfigured(policy, "", f'namespaces "{creation.namespace}" not found')
            return
        if kind is None:
            return
        param_kind = policy.model.spec.param_kind
        if bound.bindings and param_kind is not None and self._objects.kind_of(param_kind) is None:
            message = f"paramKind {param_kind.api_version} {param_kind.kind} is of no definition in the given files"
            yield NativeDecision(policy=policy.name, action="unjudged", message=f"{message}; give its definition")
            return
        namespace = None if creation.is_namespace else self._namespaces.get(creation.namespace)
        for binding in bound.bindings:
            try:
                matches = matched_kind(binding.spec.match_resources, creation, self._namespaces)
            except NamespaceUnknownError:
                message = f'namespaces "{creation.namespace}" not found'
                yield from _misconfigured(policy, binding.metadata.name, message)
                continue
            if matches is not None:
                yield _Case(bound, binding, creation, kind, namespace)

    def _decide(self, case: _Case) -> Iterator[NativeDecision]:
        policy, creation = case.bound.policy, case.creation
        if case.kind != creation.kind and not (case.kind.renamed and creation.kind.renamed):
            message = f"it matches {case.kind.api_version}, and podberth does not convert {creation.kind.api_version}"
            yield case.decision("unjudged", f"{message} {creation.kind.kind}; write it in that version")
            return
        try:
            params = self._params(policy, case)
        except SetUpFault as fault:
            yield from _lacking(case)
            yield from _misconfigured(policy, case.binding.metadata.name, str(fault))
            return
        if not params:
            yield from _lacking(case)
        audit: dict[str, list[str]] = {}
        for each in params:
            yield from self._evaluate(case, each, audit)
        for key, values in audit.items():
            yield case.decision("audit", f"{policy.name}/{key}: {', '.join(values)}")

    def _params(self, policy: Policy, case: _Case) -> Sequence[Document | None]:
        param_kind, reference = policy.model.spec.param_kind, case.binding.spec.param_ref
        kind = self._objects.kind_of(param_kind) if param_kind is not None else None
        if kind is None or reference is None:
            return [None]
        return self._objects.collect(kind, reference, case.creation.namespace)

    def _evaluate(self, case: _Case, params: Document | None, audit: dict[str, list[str]]) -> Iterator[NativeDecision]:
        """Yield the decisions with one params object (validator.Validate); collect its audit annotations."""
        bindings: dict[str, object] = {
            "object": case.creation.as_kind(case.kind),
            "oldObject": None,
            "request": case.creation.as_cel(case.kind),
            "params": params,
            "namespaceObject": None,
        }
        compiled, activation = case.bound.compiled, self._environment.activation(bindings, self._review)
        try:
            if not Evaluation(compiled, activation).conditions():
                return
        except ConditionsError as error:
            yield from _of_conditions(case, error)
            return
        bindings["namespaceObject"] = case.namespace
        activation = self._environment.activation(bindings, self._review)
        evaluation = Evaluation(compiled, activation)
        for failure in evaluation.failures():
            yield from _of_failure(case, failure, activation)
        for key, value in evaluation.audit_annotations().items():
            if isinstance(value, EvaluationError):
                yield from _of_annotation(case, dict(compiled.audit_annotations)[key], value, activation)
            else:
                values = audit.setdefault(key, [])
                values += [value] if value not in values else []


def _is_exempt(kind: ResourceKind) -> bool:
    """Return whether no native policy is asked about a kind: native policies themselves, and what is not stored.

    Source: isPolicyResource, apiserver pkg/admission/plugin/policy/generic/plugin.go, and kubernetes
    pkg/kubeapiserver/admission/exclusion/resources.go.
    """
    if kind.group in _REVIEWS:
        return True
    return kind.group == GROUP and not kind.kind.endswith("WebhookConfiguration")


def _never_asked(policy: Policy, resources: Resources) -> str:
    """Return why a policy judges no creation of a known resource; empty if it may judge one."""
    if not any({"*", "CREATE"} & set(rule.operations) for rule in policy.constraints.resource_rules):
        return "has no rule about creations, so it judges nothing: a manifest is judged as created"
    routes = (("CREATE", each.group, each.version, each.plural, "") for each in resources.every if not _is_exempt(each))
    if any(applies_statically(policy.parsed.policy, route) for route in routes):
        return ""
    return (
        "has no rule about the creation of a resource that Kubernetes 1.36, the given CustomResourceDefinitions or "
        "podberth's table has, so it judges nothing"
    )


def _lacking(case: _Case) -> Iterator[NativeDecision]:
    """Yield a note that params were not found, which a cluster may have."""
    kind, reference = case.bound.policy.model.spec.param_kind, case.binding.spec.param_ref
    if kind is not None and reference is not None:
        wanted = f"{kind.kind} {reference.name}" if reference.name else f"{kind.kind} that its paramRef selects"
        action = reference.parameter_not_found_action
        message = f"no {wanted} is in the given files; judged as if there were none (parameterNotFoundAction {action})"
        yield case.decision("note", message)


def _of_conditions(case: _Case, error: ConditionsError) -> Iterator[NativeDecision]:
    # Equal errors count once (Aggregate, apimachinery pkg/util/errors).
    causes = list(dict.fromkeys(f"{_expression(bound)}{cause}" for _, bound, cause in error.failed))
    if any(isinstance(cause, BudgetError) for _, _, cause in error.failed):
        yield case.decision("unjudged", causes[0])
    elif case.is_fatal:
        yield from case.enforced(causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]", "Invalid")


def _of_failure(case: _Case, failure: Failure, activation: Activation) -> Iterator[NativeDecision]:
    if failure.cause is None:
        yield from case.enforced(failure.message, failure.reason)
        stated = case.bound.compiled.validations[failure.index].message_expression
        if failure.unfinished and stated is not None:
            yield case.decision("unjudged", f"{_expression(stated)}{failure.unfinished}")
        return
    bound = case.bound.compiled.validations[failure.index].expression
    message = f"{_expression(bound)}{_cause(case.bound.compiled, bound, failure.cause, activation)}"
    if isinstance(failure.cause, BudgetError):
        yield case.decision("unjudged", message)
    elif case.is_fatal:
        yield from case.enforced(message, "Invalid")


def _of_annotation(
    case: _Case, bound: BoundExpression, error: EvaluationError, activation: Activation
) -> Iterator[NativeDecision]:
    """Yield the denial for an audit annotation that failed, which the binding's actions do not change."""
    message = f"{_expression(bound)}{_cause(case.bound.compiled, bound, error, activation)}"
    if isinstance(error, BudgetError):
        yield case.decision("unjudged", message)
    elif case.is_fatal:
        yield case.decision("deny", message)


def _expression(bound: BoundExpression) -> str:
    return f"expression '{bound.expression.source}' resulted in error: "


def _cause(compiled: CompiledPolicy, bound: BoundExpression, error: EvaluationError, activation: Activation) -> str:
    """Return an error's words; upstream names each variable on the way to it (composition.go)."""
    used = {path[1] for path in bound.expression.reads if path[0] == "variables" and len(path) > 1}
    for name, variable in compiled.variables.items():
        if name in used:
            try:
                variable.expression.evaluate(activation)
            except EvaluationError as inner:
                if str(inner) == str(error):
                    words = _cause(compiled, variable, inner, activation)
                    return f'composited variable "{name}" fails to evaluate: {words}'
    return str(error)


def _misconfigured(policy: Policy, binding: str, message: str) -> Iterator[NativeDecision]:
    """Yield a denial under failurePolicy Fail, whatever the binding's actions (addConfigError)."""
    if policy.model.spec.failure_policy == "Fail":
        said = f"failed to configure {'binding' if binding else 'policy'}: {message}"
        yield NativeDecision(policy=policy.name, binding=binding, action="deny", message=said)


def _repeated(policy: Policy) -> Iterator[Problem]:
    """Yield a problem for each variable whose name an earlier one has: upstream takes them, and the last counts."""
    seen: set[str] = set()
    for index, each in enumerate(policy.model.spec.variables):
        if each.name in seen:
            message = f"duplicate name {each.name!r}, which podberth does not judge; want each name once"
            yield policy.parsed.problem(("spec", "variables", index, "name"), 1, 1, message)
        seen.add(each.name)


def _notes(read: Read) -> Iterator[str]:
    names = {each.name for each in read.policies}
    bound = {each.spec.policy_name for each in read.bindings}
    for name in sorted(names - bound):
        yield f"ValidatingAdmissionPolicy {name} has no binding in the given files, so it judges nothing"
    for each in read.bindings:
        if each.spec.policy_name not in names:
            name, policy = each.metadata.name, each.spec.policy_name
            yield (
                f"ValidatingAdmissionPolicyBinding {name}: policy {policy} is not in the given files, or has a "
                "problem, so it judges nothing"
            )


def _reads(compiled: CompiledPolicy) -> Iterable[tuple[str, ...]]:
    yield from compiled.conditions_read
    for each in compiled.validations:
        yield from each.reads
    for _, bound in compiled.audit_annotations:
        yield from bound.reads
