"""Says which part of matchConstraints does not fit a request, with the wanted and the found value.

``policy.match`` decides whether they match; this module only describes the decision.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..kube.selector import LabelRequirements
from ..words import listed
from .match import MatchRequest, any_matches, unselected
from .model import LabelSelector, MatchConstraints, Rule


def unfit(constraints: MatchConstraints, request: MatchRequest, namespaces: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the field of the constraints that does not match a request, and why; empty if they match the request.

    Constraints without rules match every operation and resource. ``namespaces`` holds the Namespace objects by name.

    Raises:
        NamespaceUnknownError: all other constraints match, and the labels that the namespaceSelector needs are unknown.
    """
    for index, rule in enumerate(constraints.exclude_resource_rules):
        if any_matches((rule,), request):
            return f"excludeResourceRules[{index}]: it leaves out {request.operation} of {_resource(request)}"
    rules = constraints.resource_rules
    if rules and not any_matches(rules, request):
        return f"resourceRules: {_unfit_rules(rules, request)}"
    field = unselected(constraints, request, namespaces)
    if field == "objectSelector":
        document = request.object or request.old_object or {}
        return f"{field}: {_unmet(constraints.object_selector, document, '')}"
    if field == "namespaceSelector":
        document = namespaces.get(request.namespace) or request.object or {}
        return f"{field}: {_unmet(constraints.namespace_selector, document, f' of namespace {request.namespace}')}"
    return ""


def _resource(request: MatchRequest) -> str:
    return f"{request.resource}/{request.sub_resource}" if request.sub_resource else request.resource


def _unfit_rules(rules: Sequence[Rule], request: MatchRequest) -> str:
    """Return the first property of a request that none of the rules fits that fit the properties before it."""
    scope = "Namespaced" if request.namespace else "Cluster"
    properties: tuple[tuple[str, str, str, Callable[[Rule], Iterable[str]]], ...] = (
        ("operation", "operations", request.operation, lambda rule: rule.operations),
        ("API group", "api_groups", _shown(request.group), lambda rule: map(_shown, rule.api_groups)),
        ("API version", "api_versions", request.version, lambda rule: rule.api_versions),
        ("resource", "resources", _resource(request), lambda rule: rule.resources),
        ("scope", "scope", scope, lambda rule: (rule.scope,)),
        ("name", "resource_names", request.name or "none yet", lambda rule: rule.resource_names),
    )
    fitting = list(rules)
    fields = [field for _, field, _, _ in properties]
    for number, (what, _, got, wanted) in enumerate(properties):
        others = {field: _ANYTHING[field] for field in fields[number + 1 :]}
        left = [rule for rule in fitting if any_matches((rule.model_copy(update=others),), request)]
        if not left:
            values = dict.fromkeys(value for rule in fitting for value in wanted(rule))
            return f"{what}; got {got}, want {listed(list(values), 'or')}"
        fitting = left
    raise ValueError("the rules match the request, which is a bug")


_ANYTHING: Final[Mapping[str, Any]] = {
    "operations": ("*",),
    "api_groups": ("*",),
    "api_versions": ("*",),
    "resources": ("*/*",),
    "scope": "*",
    "resource_names": (),
}
"""The values of a rule's fields that fit every request."""


def _unmet(selector: LabelSelector, document: Mapping[str, Any], whose: str) -> str:
    labels = (document.get("metadata") or {}).get("labels") or {}
    return ", and ".join(
        f"label {key}{whose}; got {_shown(labels[key]) if key in labels else 'none'}, want {want}"
        for key, want in _wanted(selector, labels)
    )


def _wanted(selector: LabelSelector, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (key, the wanted value as text) for each requirement of a selector that labels do not meet."""
    yield from ((key, _shown(want)) for key, want in selector.match_labels.items() if labels.get(key) != want)
    for each in selector.match_expressions:
        if not LabelRequirements({"matchExpressions": [each.model_dump(mode="json")]}).match(labels):
            values = listed(list(map(_shown, each.values)), "or")
            text = {"In": values, "NotIn": f"anything but {values}", "Exists": "any value", "DoesNotExist": "none"}
            yield each.key, text[each.operator]


def _shown(value: str) -> str:
    return value or "''"
