"""Decides whether a policy's matchConstraints match a request, with the API server's semantics.

Source: the apiserver's pkg/admission/plugin/policy/matching/matching.go and pkg/admission/plugin/webhook/predicates
(rules, namespace, object). ``applies_statically`` needs only the operation and the resource, so the policies that may
match can be selected once for each operation and resource. This module does not read expressions, scope and params.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..errors import EvaluationError
from ..kube.namespaces import NAME_LABEL
from ..wellknown import EXEMPT_LABEL
from .model import GPUPolicy, LabelSelector, MatchConstraints, Rule

_ASSUMED: Final = frozenset({NAME_LABEL, EXEMPT_LABEL})

Route: TypeAlias = tuple[str, str, str, str, str]
"""A request's operation, API group, version, resource and subresource: the fields that a rule without names and scope
depends on."""


class SetUpError(EvaluationError):
    """An input that the policy needs is missing: the policy's params, or the namespace of the request."""


class NamespaceUnknownError(SetUpError):
    """The namespaceSelector of a policy cannot be evaluated, because the request's namespace is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRequest:
    """The fields of an admission request that matchConstraints depend on.

    ``name`` is empty if the API server has not generated the name yet.
    """

    operation: str
    group: str
    version: str
    resource: str
    sub_resource: str
    name: str
    namespace: str
    object: Mapping[str, Any] | None
    old_object: Mapping[str, Any] | None
    has_labels: bool = True
    """Whether the labels of the objects are known; if not, every objectSelector selects the request."""


def applies_statically(policy: GPUPolicy, route: Route) -> bool:
    """Return whether the policy can match a request of the operation and resource in ``route``."""
    constraints = policy.spec.match_constraints
    for rule in constraints.exclude_resource_rules:
        if not rule.resource_names and rule.scope == "*" and _covers(rule, route):
            return False
    return any(_covers(rule, route) for rule in constraints.resource_rules)


def is_static(policy: GPUPolicy) -> bool:
    """Return whether a request's operation and resource alone decide if the policy matches.

    The policy then has no selector, and no rule with names or a scope.
    """
    constraints = policy.spec.match_constraints
    rules = (*constraints.resource_rules, *constraints.exclude_resource_rules)
    by_rule = all(rule.scope == "*" and not rule.resource_names for rule in rules)
    return by_rule and constraints.object_selector.empty and constraints.namespace_selector.empty


def mismatch(policy: GPUPolicy, request: MatchRequest, namespaces: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the field name of the constraint that does not match; empty if the policy matches the request.

    ``namespaces`` holds the Namespace objects by name. An exclusion takes precedence over an inclusion. An absent
    object matches only the empty objectSelector. For an update, a match of the old or the new object suffices.

    Raises:
        NamespaceUnknownError: all other constraints match, and the labels that the namespaceSelector needs are unknown.
    """
    constraints = policy.spec.match_constraints
    if any_matches(constraints.exclude_resource_rules, request):
        return "excludeResourceRules"
    if not any_matches(constraints.resource_rules, request):
        return "resourceRules"
    return unselected(constraints, request, namespaces)


def any_matches(rules: Iterable[Rule], request: MatchRequest) -> bool:
    """Return whether one of the rules matches the request."""
    return any(_rule_matches(rule, request) for rule in rules)


def unselected(
    constraints: MatchConstraints, request: MatchRequest, namespaces: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the name of the selector that does not select the request; empty if both selectors select it.

    Raises:
        NamespaceUnknownError: the labels that the namespaceSelector needs are unknown.
    """
    if not _object_matches(constraints.object_selector, request):
        return "objectSelector"
    return "" if _namespace_matches(constraints.namespace_selector, request, namespaces) else "namespaceSelector"


def selects_by_label(constraints: MatchConstraints) -> bool:
    """Return whether the namespaceSelector reads a label of the Namespace that is not assumed where it is unknown.

    Assumed are the label with its name, and that it lacks the label by which podberth's webhooks leave it out.
    """
    selector = constraints.namespace_selector
    return bool({*selector.match_labels, *(each.key for each in selector.match_expressions)} - _ASSUMED)


def reads_labels(reads: Iterable[tuple[str, ...]]) -> bool:
    """Return whether expressions read more of ``namespaceObject`` than its name; ``reads`` are the paths they read."""
    return any(path[0] == "namespaceObject" and path[1:] != ("metadata", "name") for path in reads)


def _covers(rule: Rule, route: Route) -> bool:
    operation, group, version, resource, sub_resource = route
    return (
        _among(rule.operations, operation)
        and _among(rule.api_groups, group)
        and _among(rule.api_versions, version)
        and any(_resource_matches(item, resource, sub_resource) for item in rule.resources)
    )


def _among(allowed: tuple[str, ...], value: str) -> bool:
    return "*" in allowed or value in allowed


def _resource_matches(item: str, resource: str, sub_resource: str) -> bool:
    """Return whether ``item``, an item of a rule's ``resources``, matches a resource.

    ``pods`` matches pods without subresources, ``pods/*`` also their subresources, ``*`` any resource without
    subresource.
    """
    wanted, _, sub = item.partition("/")
    return wanted in ("*", resource) and sub in ("*", sub_resource)


def _rule_matches(rule: Rule, request: MatchRequest) -> bool:
    route = (request.operation, request.group, request.version, request.resource, request.sub_resource)
    if not _covers(rule, route) or not _in_scope(rule, request):
        return False
    return not rule.resource_names or request.name in rule.resource_names


def _in_scope(rule: Rule, request: MatchRequest) -> bool:
    """Return whether a rule's scope matches the request; a Namespace object is cluster-scoped.

    Source: rules.go.
    """
    if rule.scope == "*":
        return True
    return (rule.scope == "Cluster") == (_is_namespace(request) or not request.namespace)


def _object_matches(selector: LabelSelector, request: MatchRequest) -> bool:
    if selector.empty or not request.has_labels:
        return True
    return any(
        selector.matches((item.get("metadata") or {}).get("labels") or {})
        for item in (request.object, request.old_object)
        if item is not None
    )


def _namespace_matches(
    selector: LabelSelector, request: MatchRequest, namespaces: Mapping[str, Mapping[str, Any]]
) -> bool:
    if selector.empty or (not request.namespace and not _is_namespace(request)):
        return (
            True  # "if the request is about a cluster scoped resource ... it is never exempted" (namespace/matcher.go)
        )
    if _is_namespace(request) and not request.sub_resource and request.operation in ("CREATE", "UPDATE"):
        namespace = request.object  # a created or updated Namespace is matched by its new labels
    else:
        namespace = namespaces.get(request.namespace)
    if namespace is None:
        raise NamespaceUnknownError(f"namespaceSelector: namespace {request.namespace!r} is not known")
    return selector.matches((namespace.get("metadata") or {}).get("labels") or {})


def _is_namespace(request: MatchRequest) -> bool:
    return request.group == "" and request.resource == "namespaces"
