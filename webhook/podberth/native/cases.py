"""Evaluates validating and mutating native policies on the creation of an object, with their bindings and params.

The order of the evaluations and the messages are those of the API server (pkg/admission/plugin/policy/generic of
apiserver). If podberth cannot evaluate a policy, the result is a decision that says so, and never an admission.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

from ..cel.engine import Activation, Environment, Expression, ReviewContext, Room
from ..cel.libraries.authz import NOBODY, Question, User
from ..errors import EvaluationError, Problem, UndecidedError
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import ConditionsError, Evaluation, Watch, failing_variables
from ..policy.expressions import expressions_of
from ..policy.match import (
    NamespaceUnknownError,
    Route,
    SetUpError,
    applies_statically,
    reads_labels,
    selects_by_label,
)
from ..policy.model import MatchConstraints
from ..policy.refused import unreported
from ..policy.unfit import unfit
from .documents import GROUP, Policy, Read
from .model import MUTATING, VALIDATING, AnyBinding, BindingParamRef, ValidatingBindingSpec
from .params import Objects
from .request import Creation, matched_kind
from .resources import ResourceKind, Resources

Action: TypeAlias = Literal["deny", "warn", "audit", "unjudged", "note"]
Document = Mapping[str, Any]
_REVIEWS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""The API groups whose objects the API server answers and does not store."""
_ACTIONS: Final[Mapping[str, Action]] = {"Deny": "deny", "Warn": "warn", "Audit": "audit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeDecision:
    """A decision of a native policy: a denial, a warning, an entry of the audit log, or a remark about the evaluation.

    Two actions are remarks: "unjudged" means that podberth cannot predict the API server's decision, and "note" means
    that the given files may lack an object that the cluster has.
    """

    policy: str
    binding: str = ""
    """The name of the binding; empty if the decision is about the policy itself and not about a binding."""
    action: Action
    message: str
    reason: str = "Invalid"
    kind: str = VALIDATING
    """The kind of the native policy."""

    @property
    def text(self) -> str:
        """The message with the prefix that the API server adds."""
        whose = f"{self.kind} '{self.policy}'"
        whose += f" with binding '{self.binding}'" if self.binding else ""
        if self.reason == "InternalError":
            return self.message
        if self.action == "deny" and self.kind == MUTATING:  # PolicyError, generic/policy_dispatcher.go
            named = (
                f"policy '{self.policy}' with binding '{self.binding}'" if self.binding else f'policy "{self.policy}"'
            )
            return f"{named} denied request: {self.message}"
        if self.action == "deny":
            return f"{whose} denied request: {self.message}"
        if self.action == "unjudged":
            return f"{whose} is not judged: {self.message}"
        return f"{whose}: {self.message}" if self.action == "note" else f"Validation failed for {whose}: {self.message}"


@dataclass(frozen=True, slots=True)
class Bound:
    """A compiled native policy with the policy's bindings."""

    policy: Policy
    compiled: CompiledPolicy
    bindings: tuple[AnyBinding, ...]
    never: str
    """The reason why the policy matches no creation of any object; empty if the policy may match a creation."""
    reads: frozenset[tuple[str, ...]]
    """The paths that the policy's expressions read (``cel.reads``)."""

    @property
    def asks(self) -> bool:
        """Whether an expression of the policy reads the CEL variable ``authorizer``."""
        return any(path[0].partition(".")[0] == "authorizer" for path in self.reads)


@dataclass(frozen=True, slots=True)
class Case:
    """One evaluation of a native policy with one binding, for the creation of an object in one version."""

    bound: Bound
    binding: AnyBinding
    creation: Creation
    kind: ResourceKind
    namespace: Document | None

    @property
    def is_fatal(self) -> bool:
        """Whether an error of the policy denies the request, because the policy has failurePolicy Fail."""
        return self.bound.policy.model.spec.failure_policy == "Fail"

    def decision(self, action: Action, message: str, reason: str = "Invalid") -> NativeDecision:
        """Return a decision of the case's policy and binding, for the given action and message."""
        return NativeDecision(
            policy=self.bound.policy.name,
            binding=self.binding.metadata.name,
            action=action,
            message=message,
            reason=reason,
            kind=self.bound.policy.model.kind,
        )

    def enforced(self, message: str, reason: str) -> Iterator[NativeDecision]:
        """Yield a decision with ``message`` for each action in the binding's validationActions.

        The binding of a mutating policy has no such field, and counts as having the action Deny.
        """
        stated = self.binding.spec
        for action in stated.validation_actions if isinstance(stated, ValidatingBindingSpec) else ("Deny",):
            yield self.decision(_ACTIONS[action], message, reason)


class BoundPolicies:
    """The compiled ValidatingAdmissionPolicies or MutatingAdmissionPolicies, with bindings, params and namespaces."""

    kind: ClassVar[str] = VALIDATING

    def __init__(
        self,
        read: Read,
        environment: Environment,
        review: ReviewContext,
        objects: Objects,
        namespaces: Mapping[str, Document],
    ) -> None:
        """Compile the native policies of this class's kind within the time limit of ``environment``.

        A policy that does not compile is reported in ``problems`` and is never evaluated. ``environment`` must declare
        the CEL variables of native policies. ``review`` must have an index without nodes, because native expressions
        cannot read nodes.
        """
        self.environment, self._review = environment, review
        self.watch: Watch | None = None
        """An observer of the evaluations."""
        self._objects, self._namespaces = objects, namespaces
        problems, self.bound = list[Problem](), list[Bound]()
        policies, every = read.of_kind(self.kind)
        late = environment.deadline()
        for policy in policies:
            compiled = self.compiled(policy, environment)
            wrong = (*compiled.check(late, priced=False), *_repeated(policy))
            problems += wrong
            bindings = tuple(each for each in every if each.spec.policy_name == policy.name)
            if not wrong:
                why = _never_asked(policy, objects.resources) if bindings else ""
                placed = (each.expression for each in expressions_of(compiled) if each.expression is not None)
                reads = frozenset(path for each in placed for path in each.reads)
                self.bound.append(Bound(policy, compiled, bindings, why, reads))
        for policy in (each for each in read.refused if each.model.kind == self.kind):
            problems += unreported(self.compiled(policy, environment).check(late, priced=False), read.problems)
        self.problems = tuple(sorted(problems))
        """The problems of the expressions that the API server refuses or that podberth cannot compile."""
        idle = (f"{self.kind} {each.policy.name} {each.never}" for each in self.bound if each.never)
        self.notes = (*_notes(self.kind, policies, every), *idle)
        """Lines for the user about policies and bindings that apply to no creation."""

    def compiled(self, policy: Policy, environment: Environment) -> CompiledPolicy:
        """Return the policy as a CompiledPolicy. Each expression is compiled later, at its first use."""
        return CompiledPolicy(policy.parsed, environment, Room.of_policy(None), policy.names)

    def evaluation(self, case: Case, params: Document | None, namespace: Document | None) -> Evaluation:
        """Return the evaluation of a case with one params object; ``namespace`` is the value of ``namespaceObject``.

        The API server evaluates messageExpressions and auditAnnotations, and the variables in them, without an
        authorizer (validator.Validate).
        """
        bindings: dict[str, object] = {
            "object": case.creation.as_kind(case.kind),
            "oldObject": None,
            "request": case.creation.as_cel(case.kind),
            "params": params,
            "namespaceObject": namespace,
        }
        if not case.bound.asks:
            return Evaluation(case.bound.compiled, self.environment.activation(bindings, self._review), self.watch)
        question = _about(case.creation)
        asking, of_texts = (
            self.environment.activation({**bindings, **self.environment.authorizer(each)}, self._review)
            for each in (question, replace(question, user=NOBODY))
        )
        return Evaluation(case.bound.compiled, asking, self.watch, of_texts)

    def reads_user(self) -> Iterator[tuple[str, str]]:
        """Yield pairs for the policies whose decision depends on the user, who is not known before the request.

        A pair is (the policy's name, what the policy reads: "request.userInfo" or "authorizer").
        """
        for each in self.bound:
            if any(path[:2] == ("request", "userInfo") for path in each.reads):
                yield each.policy.name, "request.userInfo"
            elif each.asks:
                yield each.policy.name, "authorizer"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies that may match a creation, have a binding, and have no problem."""
        return tuple(each.policy.name for each in self.bound if each.bindings and not each.never)

    def may_match(self, api_version: str) -> bool:
        """Return whether any policy with a binding may match objects of an apiVersion, whatever their resource.

        With matchPolicy Equivalent the version is ignored, since the API server may serve the resource under several
        versions.
        """
        group, _, version = api_version.rpartition("/")
        return any(
            ({"*", group} & set(rule.api_groups))
            and (each.policy.constraints.match_policy == "Equivalent" or {"*", version} & set(rule.api_versions))
            for each in self.bound
            if each.bindings
            for rule in each.policy.constraints.resource_rules
            if {"*", "CREATE"} & set(rule.operations)
        )

    def cases(self, bound: Bound, creation: Creation) -> Iterator[Case | NativeDecision]:
        """Yield a case for each binding of a policy that matches a creation.

        If podberth cannot find out whether the policy or a binding matches, a decision is yielded instead: a denial, or
        a decision with the action "unjudged".
        """
        policy = bound.policy
        try:
            kind = matched_kind(policy.constraints, creation, self._namespaces)
        except NamespaceUnknownError:
            yield from _misconfigured(policy, "", f'namespaces "{creation.namespace}" not found')
            return
        if kind is None:
            if self.watch is not None:
                why = _why_not(policy.constraints, creation, self._namespaces)
                self._pass_over(bound, f"matchConstraints.{why}")
            return
        param_kind = policy.model.spec.param_kind
        if bound.bindings and param_kind is not None and self._objects.kind_of(param_kind) is None:
            message = f"paramKind {param_kind.api_version} {param_kind.kind} is of no definition in the given files"
            yield NativeDecision(
                policy=policy.name, action="unjudged", message=f"{message}; give its definition", kind=policy.model.kind
            )
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
                yield Case(bound, binding, creation, kind, namespace)
            elif self.watch is not None:
                why = _why_not(binding.spec.match_resources, creation, self._namespaces)
                self._pass_over(bound, f"matchResources of {binding.metadata.name}: {why}")

    def reading_labels(self, creation: Creation) -> Iterator[str]:
        """Yield the names of the policies that may read labels of the object's Namespace.

        The policies' matchConditions are not evaluated.
        """
        if creation.is_namespace or not creation.namespace:
            return
        for each in self.bound:
            own, reads = each.policy.constraints, reads_labels(each.reads)
            for bound in (binding.spec.match_resources for binding in each.bindings):
                asks = reads or selects_by_label(own) or selects_by_label(bound)
                if asks and _may_match(own, creation) and _may_match(bound, creation):
                    yield each.policy.name
                    break

    def within(self, review: ReviewContext, objects: Objects, namespaces: Mapping[str, Document]) -> Self:
        """Return a copy of the policies that is evaluated with another review context, other objects and namespaces."""
        made = copy(self)
        made._review, made._objects, made._namespaces = review, objects, namespaces  # noqa: SLF001 - of this class
        return made

    def may_match_route(self, route: Route) -> Iterator[str]:
        """Yield the names of the policies with a binding that may match a request to the resource in ``route``.

        ``route`` has the operation and the resource of the request.
        """
        for each in self.bound:
            if each.bindings and applies_statically(each.policy.parsed.policy, route):
                yield each.policy.name

    def meets(self, case: Case, params: Document | None, decisions: list[NativeDecision]) -> bool:
        """Return whether the matchConditions are true for a params object.

        If no condition is false and one of them failed, the result is False, and the decisions about the errors are
        added to ``decisions``.
        """
        try:
            met = self.evaluation(case, params, None).conditions()
        except ConditionsError as error:
            decisions += _of_conditions(case, error)
            return False
        if met and self.watch is not None:
            self.watch.matched(case.bound.compiled, params)
        return met

    def _pass_over(self, bound: Bound, why: str) -> None:
        if self.watch is not None:
            self.watch.passed_over(bound.compiled, why)

    def params(self, case: Case, decisions: list[NativeDecision]) -> Sequence[Document | None]:
        """Return the params objects of a case; [None] if the policy or the binding uses no params.

        The result is empty if there are no params, or if the paramRef does not fit the kind of the params. The
        decisions about that are added to ``decisions``.
        """
        policy, reference = case.bound.policy, case.binding.spec.param_ref
        param_kind = policy.model.spec.param_kind
        kind = self._objects.kind_of(param_kind) if param_kind is not None else None
        if kind is None or reference is None:
            return [None]
        try:
            found = self._objects.collect(kind, reference, case.creation.namespace)
        except SetUpError as error:
            decisions.append(_lacking(case, kind, reference))
            decisions += _misconfigured(policy, case.binding.metadata.name, str(error))
            return []
        if not found:
            decisions.append(_lacking(case, kind, reference))
        return found


def _may_match(constraints: MatchConstraints, creation: Creation) -> bool:
    """Return whether constraints match a creation, for some labels of the Namespace."""
    try:
        return matched_kind(constraints, creation, {}) is not None
    except NamespaceUnknownError:
        return True


def _why_not(constraints: MatchConstraints, creation: Creation, namespaces: Mapping[str, Document]) -> str:
    """Return which part of constraints does not match a creation."""
    why = unfit(constraints, creation.as_match_request(), namespaces)
    return why or "excludeResourceRules: they leave out the resource in another API version"


def is_exempt(kind: ResourceKind) -> bool:
    """Return whether the API server evaluates no native policy for objects of a kind.

    The exempt kinds are native policies, bindings, and kinds such as TokenReview whose objects are not stored.

    Source: isPolicyResource, apiserver pkg/admission/plugin/policy/generic/plugin.go, and kubernetes
    pkg/kubeapiserver/admission/exclusion/resources.go.
    """
    if kind.group in _REVIEWS:
        return True
    return kind.group == GROUP and not kind.kind.endswith("WebhookConfiguration")


def _never_asked(policy: Policy, resources: Resources) -> str:
    """Return why a policy matches the creation of no known resource, as a message; empty if it may match one."""
    if not any({"*", "CREATE"} & set(rule.operations) for rule in policy.constraints.resource_rules):
        return "has no rule about creations, so it judges nothing: a manifest is judged as created"
    routes = (("CREATE", each.group, each.version, each.plural, "") for each in resources.every if not is_exempt(each))
    if any(applies_statically(policy.parsed.policy, route) for route in routes):
        return ""
    return (
        "has no rule about the creation of a resource that Kubernetes 1.36, the given CustomResourceDefinitions or "
        "podberth's table has, so it judges nothing"
    )


def _lacking(case: Case, kind: ResourceKind, reference: BindingParamRef) -> NativeDecision:
    """Return a note that the given files do not have the params of a case, which the cluster may have."""
    wanted = f"{kind.kind} {reference.name}" if reference.name else f"{kind.kind} that its paramRef selects"
    action = reference.parameter_not_found_action
    message = f"no {wanted} is in the given files; judged as if there were none (parameterNotFoundAction {action})"
    return case.decision("note", message)


def _of_conditions(case: Case, error: ConditionsError) -> Iterator[NativeDecision]:
    """Yield the decisions about a case in which at least one matchCondition failed, and no matchCondition is false."""
    # Equal errors count once (Aggregate, apimachinery pkg/util/errors).
    causes = list(dict.fromkeys(f"{leading(expression)}{cause}" for _, expression, cause in error.failed))
    if any(isinstance(cause, UndecidedError) for _, _, cause in error.failed):
        yield case.decision("unjudged", causes[0])
    elif case.is_fatal:
        yield from case.enforced(causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]", "Invalid")


def leading(expression: Expression) -> str:
    """Return the text that precedes the error of an expression in a message of the API server."""
    return f"expression '{expression.source}' resulted in error: "


def error_of(compiled: CompiledPolicy, expression: Expression, error: EvaluationError, activation: Activation) -> str:
    """Return the API server's message about the error of an expression.

    The message has the names of the variables in which the error occurred (composition.go).
    """
    names = failing_variables(compiled, expression, error, activation)
    within = "".join(f'composited variable "{name}" fails to evaluate: ' for name in names)
    return f"{leading(expression)}{within}{error}"


def failed(case: Case, message: str, *, unfinished: bool) -> Iterator[NativeDecision]:
    """Yield the decision about an error, whatever the binding's validationActions are.

    ``unfinished`` is whether podberth cannot predict the API server's result.
    """
    if unfinished:
        yield case.decision("unjudged", message)
    elif case.is_fatal:
        yield case.decision("deny", message)


def _misconfigured(policy: Policy, binding: str, message: str) -> Iterator[NativeDecision]:
    """Yield a denial for a policy whose params or binding are wrong, if the policy has failurePolicy Fail.

    The validationActions of the binding do not matter (addConfigError).
    """
    if policy.model.spec.failure_policy == "Fail":
        said = f"failed to configure {'binding' if binding else 'policy'}: {message}"
        yield NativeDecision(
            policy=policy.name,
            binding=binding,
            action="deny",
            message=said,
            reason="Invalid" if policy.model.kind == VALIDATING else "Forbidden",
            kind=policy.model.kind,
        )


def _repeated(policy: Policy) -> Iterator[Problem]:
    """Yield a problem for each variable with the name of an earlier variable.

    The API server accepts both variables and uses the later variable.
    """
    seen: set[str] = set()
    for index, each in enumerate(policy.model.spec.variables):
        if each.name in seen:
            message = f"duplicate name {each.name!r}, which podberth does not judge; want each name once"
            yield policy.parsed.problem(("spec", "variables", index, "name"), message)
        seen.add(each.name)


def _notes(kind: str, policies: Sequence[Policy], bindings: Sequence[AnyBinding]) -> Iterator[str]:
    names = {each.name for each in policies}
    bound = {each.spec.policy_name for each in bindings}
    for name in sorted(names - bound):
        yield f"{kind} {name} has no binding in the given files, so it judges nothing"
    for each in bindings:
        if each.spec.policy_name not in names:
            name, policy = each.metadata.name, each.spec.policy_name
            yield (
                f"{kind}Binding {name}: policy {policy} is not in the given files, or has a "
                "problem, so it judges nothing"
            )


def _about(creation: Creation) -> Question:
    """Return the question whether the user may access the resource of the request (NewResourceAuthorizerVal)."""
    user = creation.user
    return Question(
        user=User(str(user.get("username") or ""), tuple(map(str, user.get("groups") or ()))),
        group=creation.kind.group,
        resource=creation.kind.plural,
        namespace=creation.namespace,
        name=creation.name,
    )
