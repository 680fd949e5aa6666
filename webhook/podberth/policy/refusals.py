"""Refuses policies whose fields are valid one by one but not together, by the API server's rules and podberth's own.

Source: pkg/apis/admissionregistration/validation/validation.go of kubernetes. Each check yields the path of a field in
the document, and the problem of the field. Each field by itself has been validated before.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias, get_args

from ..cel.compile_limits import MAX_ENTRIES, MAX_EXPRESSION_BYTES, MAX_POLICY_BYTES
from ..kube.paths import Path
from ..wellknown import HOSTNAME_LABEL
from ..workload.systems import JOINED
from .claim_template import DeviceRequest, Devices, DeviceSubRequest, ExactDeviceRequest
from .model import (
    CONCERNS,
    AuditAnnotation,
    GPUPolicy,
    LabelSelector,
    MatchCondition,
    Mutation,
    Rule,
    Spec,
    leaves_of,
)
from .text_fields import DocumentPart, gives

Refusal: TypeAlias = tuple[Path, str]

# validation.go: "must be less than or equal to 64 items"; maxAuditAnnotations; 5 KB of source for a valueExpression
MAX_MATCH_CONDITIONS = 64
MAX_AUDIT_ANNOTATIONS = 20
MAX_AUDIT_EXPRESSION_BYTES = MAX_EXPRESSION_BYTES
# Far more than a policy needs; the API server computes the cost of the CRD's rules from this bound.
MAX_CLAIM_TEMPLATES = 16

# A CEL string literal without escapes.
_LITERAL = re.compile(r"""\s*(?P<quote>['"])(?P<text>[^'"\\\n]*)(?P=quote)\s*""")

_SPEC: Path = ("spec",)
DOES_NOTHING: Final = "the policy does nothing; want mutations, validations or auditAnnotations, or disabled: true"


def refusals(policy: GPUPolicy) -> list[Refusal]:
    """Return all problems of a policy's combination of fields; empty if there are none."""
    return [refusal for check in _CHECKS for refusal in check(policy.spec)]


def too_large(policy: GPUPolicy) -> bool:
    """Return whether a policy exceeds one of the limits that bound the time of its compilation."""
    conditions, annotations = policy.spec.match_conditions, policy.spec.audit_annotations
    too_many = len(conditions) > MAX_MATCH_CONDITIONS or len(annotations) > MAX_AUDIT_ANNOTATIONS
    return too_many or any(_limits(policy.spec))


def _purpose(spec: Spec) -> Iterator[Refusal]:
    if not (spec.mutations or spec.validations or spec.audit_annotations or spec.disabled):
        yield _SPEC, DOES_NOTHING


def _limits(spec: Spec) -> Iterator[Refusal]:
    counts = (
        ("variables", len(spec.variables), MAX_ENTRIES),
        ("mutations", len(spec.mutations), MAX_ENTRIES),
        ("validations", len(spec.validations), MAX_ENTRIES),
        ("claimTemplates", len(spec.claim_templates), MAX_CLAIM_TEMPLATES),
    )
    for name, count, limit in counts:
        if count > limit:
            yield (*_SPEC, name), f"got {count} entries, want at most {limit}"
    for index, item in enumerate(spec.mutations):
        for key, entries in item.written.items():
            if isinstance(entries, dict) and len(entries) > MAX_ENTRIES:
                yield (*_SPEC, "mutations", index, key), f"got {len(entries)} entries, want at most {MAX_ENTRIES}"
    size = sum(len(source.encode(errors="replace")) for source in _expressions(spec))
    if size > MAX_POLICY_BYTES:
        yield _SPEC, f"got {size:,} bytes of expressions, want {MAX_POLICY_BYTES:,} at most; make several policies"


def _expressions(spec: Spec) -> Iterator[str]:
    yield from (item.expression for item in spec.match_conditions)
    yield from (item.expression for item in spec.variables)
    for item in spec.mutations:
        yield from (leaf.source for leaf in leaves_of(item)[0])
        yield from (source for source in (item.when, item.reason) if source is not None)
    for validation in spec.validations:
        yield from (validation.expression, validation.message_expression or "")
    yield from (item.value_expression for item in spec.audit_annotations)


def _audit_annotations(spec: Spec) -> Iterator[Refusal]:
    sizes = [len(item.value_expression.encode()) for item in spec.audit_annotations]
    yield from refused_annotations(spec.audit_annotations, sizes, "the webhook's name")


def refused_annotations(
    annotations: tuple[AuditAnnotation, ...], sizes: Iterable[int], in_front: str
) -> Iterator[Refusal]:
    """Yield the problems of the field ``spec.auditAnnotations``.

    ``sizes`` has the number of bytes of each expression, and ``in_front`` names what is put in front of each key.
    """
    path = (*_SPEC, "auditAnnotations")
    if len(annotations) > MAX_AUDIT_ANNOTATIONS:
        yield path, f"got {len(annotations)} entries, want at most {MAX_AUDIT_ANNOTATIONS}"
    yield from repeated([each.key for each in annotations], path, "key")
    for index, (each, size) in enumerate(zip(annotations, sizes, strict=True)):
        if "/" in each.key:
            yield (*path, index, "key"), f"got {each.key!r}, want a name without '/'; {in_front} is put in front"
        if size > MAX_AUDIT_EXPRESSION_BYTES:
            yield (*path, index, "valueExpression"), f"got {size} bytes, want at most {MAX_AUDIT_EXPRESSION_BYTES}"


def _names(spec: Spec) -> Iterator[Refusal]:
    yield from refused_conditions(spec.match_conditions)
    yield from repeated([item.name for item in spec.variables], (*_SPEC, "variables"), "name")
    yield from repeated([item.name for item in spec.mutations], (*_SPEC, "mutations"), "name")
    yield from repeated([item.name for item in spec.claim_templates], (*_SPEC, "claimTemplates"), "name")


def refused_conditions(conditions: tuple[MatchCondition, ...]) -> Iterator[Refusal]:
    """Yield the problems of the field ``spec.matchConditions``."""
    path = (*_SPEC, "matchConditions")
    if len(conditions) > MAX_MATCH_CONDITIONS:
        yield path, f"got {len(conditions)} entries, want at most {MAX_MATCH_CONDITIONS}"
    yield from repeated([each.name for each in conditions], path, "name")


def repeated(names: Iterable[str | None], path: Path, key: str) -> Iterator[Refusal]:
    """Yield a problem for each name that an earlier item of the list at ``path`` has; ``key`` is the name's field."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name is not None and name in seen:
            yield (*path, index, key), f"duplicate {key} {name!r}; want each {key} once"
        seen.add(name or "")


def _params(spec: Spec) -> Iterator[Refusal]:
    if (spec.param_kind is None) != (spec.param_ref is None):
        present, absent = ("paramKind", "paramRef") if spec.param_kind else ("paramRef", "paramKind")
        yield (*_SPEC, present), f"{present} without {absent}; want both or neither"
    if spec.param_ref and (spec.param_ref.name is None) == (spec.param_ref.selector is None):
        path = (*_SPEC, "paramRef")
        nulls = list(_nulls(spec.param_ref, ("name", "label_selector"), path))
        yield from nulls or [(path, "want exactly one of name and selector")]
    if spec.param_ref and spec.param_ref.label_selector:
        yield from refused_selector(spec.param_ref.label_selector, (*_SPEC, "paramRef", "selector"))


def _validations(spec: Spec) -> Iterator[Refusal]:
    actions = spec.validation_actions
    path = (*_SPEC, "validationActions")
    if spec.validations and not actions:
        yield path, "validations need validationActions; want [Deny], [Warn], [Audit], [Deny, Audit] or [Warn, Audit]"
    if actions and not spec.validations:
        yield path, "validationActions without validations; leave them out"
    yield from refused_actions(actions)
    for index, item in enumerate(spec.validations):
        if "\n" in item.expression.strip() and item.message is None and item.message_expression is None:
            yield (
                (*_SPEC, "validations", index),
                "an expression of several lines needs a message or a messageExpression",
            )


def refused_actions(actions: tuple[str, ...]) -> Iterator[Refusal]:
    """Yield the problems of the field ``spec.validationActions``: actions that occur twice or exclude each other."""
    path = (*_SPEC, "validationActions")
    if {"Deny", "Warn"} <= set(actions):
        yield path, "got Deny and Warn, which would report everything twice; want one of them"
    if len(set(actions)) != len(actions):
        yield path, "got an action twice; want each once"


def _mutations(spec: Spec) -> Iterator[Refusal]:
    for index, item in enumerate(spec.mutations):
        path = (*_SPEC, "mutations", index)
        if len(item.written) != 1:
            nulls = [] if item.written else list(_nulls(item, CONCERNS.values(), path))
            got = " and ".join(item.written) or "none"
            do = "; make several entries of it" if item.written else ""
            yield from nulls or [(path, f"got {got}, want exactly one of {', '.join(CONCERNS)}{do}")]
        if HOSTNAME_LABEL in (item.node_selector or {}):
            yield (*path, "nodeSelector", HOSTNAME_LABEL), "names a host; the scheduler chooses the node"
        yield from _node_affinity(item, path)
        yield from _system(item, path)
    rules = spec.match_constraints.resource_rules
    for index, rule in enumerate(rules if spec.mutations else ()):
        if "DELETE" in rule.operations:
            path = (*_SPEC, "matchConstraints", "resourceRules", index, "operations")
            yield path, "got DELETE in a policy with mutations; what is deleted cannot be changed"


def _nulls(part: DocumentPart, names: Iterable[str], path: Path) -> Iterator[Refusal]:
    """Yield a problem for each of the fields ``names`` that is null in the document; the author has yet to fill it."""
    for name in names:
        if name in part.model_fields_set and getattr(part, name) is None:
            field = type(part).model_fields[name]
            kind = get_args(field.annotation)[0]  # of ``kind | None``
            is_text = getattr(kind, "__origin__", kind) is str
            want = ("a CEL expression as a string" if gives(field) else "a string") if is_text else "an object"
            yield (*path, field.alias or name), f"got null, want {want}"


def _node_affinity(item: Mutation, path: Path) -> Iterator[Refusal]:
    affinity = item.node_affinity
    if affinity is None:
        return
    path = (*path, "nodeAffinity")
    if (affinity.required is None) == (affinity.preferred is None):
        nulls = list(_nulls(affinity, ("required", "preferred"), path))
        do = "; make two entries of it, each with its own when" if affinity.required is not None else ""
        yield from nulls or [(path, f"want exactly one of required and preferred{do}")]
    elif (affinity.preferred is None) != (affinity.weight is None):
        yield path, "want preferred with a weight from 1 to 100, or required without one"


def _system(item: Mutation, path: Path) -> Iterator[Refusal]:
    """Yield a problem if ``gang.system`` is a literal that names no group system.

    The value of any other expression is checked for each pod.
    """
    literal = _LITERAL.fullmatch((item.gang and item.gang.system) or "")
    if literal and literal["text"] not in ("", *JOINED):
        yield (*path, "gang", "system"), f"got {literal['text']!r}, want one of {', '.join(JOINED)}"


def _claim_templates(spec: Spec) -> Iterator[Refusal]:
    for index, item in enumerate(spec.claim_templates):
        yield from _devices(item.spec.spec.devices, (*_SPEC, "claimTemplates", index, "spec", "spec", "devices"))
    if spec.claim_templates and not any(tuple(item.written) == ("resourceClaims",) for item in spec.mutations):
        yield (*_SPEC, "claimTemplates"), "claimTemplates without a mutation of resourceClaims; nothing would name them"


def _devices(devices: Devices, path: Path) -> Iterator[Refusal]:
    known: set[str] = set()
    for index, request in enumerate(devices.requests):
        at = (*path, "requests", index)
        if request.name in known:
            yield (*at, "name"), f"duplicate name {request.name!r}; want each name once"
        known |= {request.name, *(f"{request.name}/{each.name}" for each in request.first_available)}
        yield from _request(request, at)
    for index, constraint in enumerate(devices.constraints):
        at = (*path, "constraints", index)
        if (constraint.match_attribute is None) == (constraint.distinct_attribute is None):
            yield at, "want exactly one of matchAttribute and distinctAttribute"
        yield from _of_claim(constraint.requests, known, at)
    for index, config in enumerate(devices.config):
        yield from _of_claim(config.requests, known, (*path, "config", index))


def _request(request: DeviceRequest, path: Path) -> Iterator[Refusal]:
    if (request.exactly is None) == (not request.first_available):
        yield path, "want exactly one of exactly and firstAvailable"
    asked: list[tuple[Path, ExactDeviceRequest | DeviceSubRequest]] = [
        ((*path, "firstAvailable", index), each) for index, each in enumerate(request.first_available)
    ]
    if request.exactly is not None:
        asked.append(((*path, "exactly"), request.exactly))
    for place, each in asked:
        if each.allocation_mode == "All" and each.count is not None:
            yield (*place, "count"), "got a count with allocationMode All, want one of them"


def _of_claim(names: tuple[str, ...], known: set[str], path: Path) -> Iterator[Refusal]:
    for index, name in enumerate(names):
        if name not in known:
            yield (*path, "requests", index), f"got {name!r}, want a request of the claim: {', '.join(sorted(known))}"


def _constraints(spec: Spec) -> Iterator[Refusal]:
    constraints = spec.match_constraints
    path = (*_SPEC, "matchConstraints")
    if not constraints.resource_rules:
        yield (
            (*path, "resourceRules"),
            "got no rules, which match nothing; want one, or leave the field out for pods on CREATE",
        )
    yield from refused_rules(constraints.resource_rules, (*path, "resourceRules"))
    yield from refused_rules(constraints.exclude_resource_rules, (*path, "excludeResourceRules"))
    yield from refused_selector(constraints.namespace_selector, (*path, "namespaceSelector"))
    yield from refused_selector(constraints.object_selector, (*path, "objectSelector"))


def refused_rules(
    rules: Iterable[Rule], path: Path, resources: Callable[[tuple[str, ...], Path], Iterator[Refusal]] | None = None
) -> Iterator[Refusal]:
    """Yield the problems of the rules in the list at ``path``.

    ``resources`` replaces the check of the rules' resources.
    """
    for index, rule in enumerate(rules):
        yield from _rule(rule, (*path, index), resources or _resources)


def _rule(rule: Rule, path: Path, resources: Callable[[tuple[str, ...], Path], Iterator[Refusal]]) -> Iterator[Refusal]:
    lists = (("operations", rule.operations), ("apiGroups", rule.api_groups), ("apiVersions", rule.api_versions))
    for field, values in (*lists, ("resources", rule.resources)):
        if not values:
            yield (*path, field), "got an empty list, want at least one entry"
    if any(len(values) > MAX_ENTRIES for values in (*(values for _, values in lists), rule.resources)):
        yield path, f"got a list of more than {MAX_ENTRIES} entries, want fewer; make several rules of it"
        return
    for field, values in lists:
        if "*" in values and len(values) > 1:
            yield (*path, field), "got '*' and more, want '*' alone"
    for field, values in (("apiVersions", rule.api_versions), ("resources", rule.resources)):
        if "" in values:
            yield (*path, field), "got an empty string, want a name or '*'"
    if len(set(rule.resource_names)) != len(rule.resource_names):
        yield (*path, "resourceNames"), "got a name twice; want each once"
    yield from resources(rule.resources, (*path, "resources"))


def _resources(resources: tuple[str, ...], path: Path) -> Iterator[Refusal]:
    """Yield a problem for a wildcard beside a resource that it includes, as kubernetes does (validateResources)."""
    if "*/*" in resources and len(resources) > 1:
        yield path, "got '*/*' and more, want '*/*' alone"
        return
    for index, item in enumerate(resources):
        name, slash, sub = item.partition("/")
        if slash and not sub:
            yield (*path, index), f"got {item!r}, want a resource, or a resource, '/' and a subresource"
        covering = ({f"{name}/*"} if slash else set()) | ({f"*/{sub}"} if slash else {"*"})
        for other in sorted((covering - {item}) & set(resources)):
            yield (*path, index), f"got {item!r} beside {other!r}, which covers it"


def refused_selector(selector: LabelSelector, path: Path) -> Iterator[Refusal]:
    """Yield the problems of the label selector at ``path``."""
    for index, item in enumerate(selector.match_expressions):
        if (item.operator in ("In", "NotIn")) != bool(item.values):
            wanted = "at least one value" if item.operator in ("In", "NotIn") else "no values"
            yield (
                (*path, "matchExpressions", index, "values"),
                f"{item.operator} with {len(item.values)} values, want {wanted}",
            )


_CHECKS: tuple[Callable[[Spec], Iterator[Refusal]], ...] = (
    _purpose,
    _limits,
    _audit_annotations,
    _names,
    _params,
    _validations,
    _mutations,
    _claim_templates,
    _constraints,
)
