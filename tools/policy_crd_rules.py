"""What the CRD of GPUPolicy says besides the shape of its fields: the rules across fields, list types and limits.

Each rule is a check of ``policy.refusals`` in CEL. Limits are there because the API server must be able to compute what
a rule costs at most before it takes it (``x-kubernetes-validations``: 10 million units each, 100 million in all); they
are far above what policies need, and where Kubernetes has one for the same field, it is that.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#resource-use-by-validation-functions
"""

from typing import Any, NamedTuple

from podberth.cel.compile_limits import MAX_ENTRIES, MAX_EXPRESSION_BYTES
from podberth.policy.exception_model import MAX_TEXT
from podberth.policy.model import CONCERNS
from podberth.policy.refusals import (
    MAX_AUDIT_ANNOTATIONS,
    MAX_AUDIT_EXPRESSION_BYTES,
    MAX_CLAIM_TEMPLATES,
    MAX_MATCH_CONDITIONS,
)
from podberth.policy.text_fields import MAX_TEMPLATE_NAME
from podberth.wellknown import HOSTNAME_LABEL


class Rule(NamedTuple):
    """A CEL rule on an object, what to say where it is false, and of which of its fields."""

    rule: str
    message: str
    field: str = ""


def _unique(field: str, key: str) -> Rule:
    named = f"has(self.{field}) ? self.{field}.filter(each, has(each.{key})).map(each, each.{key}) : []"
    return Rule(
        f"({named}).all(name, ({named}).exists_one(other, other == name))", f"want each {key} once", f".{field}"
    )


def _alone(field: str) -> Rule:
    return Rule(f"!('*' in self.{field}) || self.{field}.size() == 1", "want '*' alone, or no '*'", f".{field}")


_ONE_CONCERN = f"[{', '.join(f'has(self.{each})' for each in CONCERNS)}].filter(given, given).size() == 1"
_SOME = "has(self.{0}) && self.{0}.size() > 0"
_ACTIONS = _SOME.format("validationActions")
_VALIDATIONS = _SOME.format("validations")

RULES: dict[str, tuple[Rule, ...]] = {
    "NamespacedSpec": (
        Rule("has(self.paramKind) == has(self.paramRef)", "want both paramKind and paramRef, or neither", ".paramKind"),
        _unique("matchConditions", "name"),
        _unique("variables", "name"),
    ),
    "Spec": (
        Rule(
            " || ".join(
                [
                    *(f"({_SOME.format(each)})" for each in ("mutations", "validations", "auditAnnotations")),
                    "(has(self.disabled) && self.disabled)",
                ]
            ),
            "the policy does nothing; want mutations, validations or auditAnnotations, or disabled: true",
        ),
        Rule("has(self.paramKind) == has(self.paramRef)", "want both paramKind and paramRef, or neither", ".paramKind"),
        Rule(
            f"({_VALIDATIONS}) == ({_ACTIONS})",
            "want validations with [Deny], [Warn], [Audit], [Deny, Audit] or [Warn, Audit], or neither of both",
            ".validationActions",
        ),
        Rule(
            "!has(self.validationActions) || !('Deny' in self.validationActions && 'Warn' in self.validationActions)",
            "got Deny and Warn, which would report everything twice; want one of them",
            ".validationActions",
        ),
        _unique("mutations", "name"),
        _unique("auditAnnotations", "key"),
        Rule(
            f"!({_SOME.format('claimTemplates')}) || "
            "(has(self.mutations) && self.mutations.exists(each, has(each.resourceClaims)))",
            "want a mutation of resourceClaims, which names them",
            ".claimTemplates",
        ),
        Rule(
            f"!({_SOME.format('mutations')}) || !has(self.matchConstraints) || "
            "!has(self.matchConstraints.resourceRules) || "
            "self.matchConstraints.resourceRules.all(each, !('DELETE' in each.operations))",
            "got DELETE in a policy with mutations; what is deleted cannot be changed",
            ".matchConstraints",
        ),
    ),
    "Mutation": (
        Rule(_ONE_CONCERN, f"want exactly one of {', '.join(CONCERNS)}; make several entries of it"),
        Rule(
            f"!has(self.nodeSelector) || !('{HOSTNAME_LABEL}' in self.nodeSelector)",
            "names a host; the scheduler chooses the node",
            ".nodeSelector",
        ),
    ),
    "NodeAffinity": (
        Rule("has(self.required) != has(self.preferred)", "want exactly one of required and preferred"),
        Rule("has(self.preferred) == has(self.weight)", "want preferred with a weight, or required without one"),
    ),
    "Validation": (
        Rule(
            r"!self.expression.trim().contains('\n') || has(self.message) || has(self.messageExpression)",
            "an expression of several lines needs a message or a messageExpression",
        ),
    ),
    "ParamRef": (Rule("has(self.name) != has(self.selector)", "want exactly one of name and selector"),),
    "DeviceRequest": (
        Rule(
            "has(self.exactly) != (has(self.firstAvailable) && self.firstAvailable.size() > 0)",
            "want exactly one of exactly and firstAvailable",
        ),
    ),
    **{
        each: (
            Rule(
                "!has(self.count) || !has(self.allocationMode) || self.allocationMode != 'All'",
                "got a count with allocationMode All, want one of them",
            ),
        )
        for each in ("ExactDeviceRequest", "DeviceSubRequest")
    },
    "DeviceConstraint": (
        Rule(
            "has(self.matchAttribute) != has(self.distinctAttribute)",
            "want exactly one of matchAttribute and distinctAttribute",
        ),
    ),
    "AuditAnnotation": (
        Rule("!self.key.contains('/')", "want a name without '/'; the webhook's name is put in front", ".key"),
    ),
    "LabelSelectorRequirement": (
        Rule(
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
            "want values with In and NotIn, and none with Exists and DoesNotExist",
        ),
    ),
    "Rule": (
        _alone("operations"),
        _alone("apiGroups"),
        _alone("apiVersions"),
        Rule("!('*/*' in self.resources) || self.resources.size() == 1", "want '*/*' alone, or no '*/*'", ".resources"),
        Rule(
            "self.resources.all(each, !each.endsWith('/'))",
            "want a resource, or a resource, '/' and a subresource",
            ".resources",
        ),
        # validateResources of kubernetes: a wildcard beside what it covers
        Rule(
            "self.resources.all(each, each.contains('/') ? "
            "(each.endsWith('/*') || !(each.split('/')[0] + '/*' in self.resources)) && "
            "(each.startsWith('*/') || !('*/' + each.split('/')[1] in self.resources)) : "
            "each == '*' || !('*' in self.resources))",
            "got a resource beside a wildcard that covers it",
            ".resources",
        ),
        Rule(
            "!has(self.resourceNames) || "
            "self.resourceNames.all(name, self.resourceNames.exists_one(other, other == name))",
            "want each name once",
            ".resourceNames",
        ),
    ),
}

_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
LIST_TYPES: dict[str, dict[str, Any]] = {
    "spec.matchConditions": _BY_NAME,
    "spec.variables": _BY_NAME,
    "spec.validationActions": {"x-kubernetes-list-type": "set"},
    "spec.claimTemplates": _BY_NAME,
    "spec.claimTemplates[].spec.spec.devices.requests": _BY_NAME,
}
"""Those of ValidatingAdmissionPolicy (k8s.io/api/admissionregistration/v1, types.go); all other lists are atomic."""

_CONSTRAINTS = ("spec.matchConstraints.resourceRules", "spec.matchConstraints.excludeResourceRules")
_NOT_EMPTY = ("operations", "apiGroups", "apiVersions", "resources")

LIMITS: dict[str, dict[str, Any]] = {
    # [prefix/]name of a label: 253 + 1 + 63, the longest name that any field takes
    "string": {"maxLength": 317},
    "expression": {"maxLength": MAX_EXPRESSION_BYTES},
    "list": {"maxItems": MAX_ENTRIES},
    "map": {"maxProperties": MAX_ENTRIES},
    "spec.description": {"maxLength": 4096},
    "exception.reason": {"maxLength": MAX_TEXT},
    "exception.requestedBy": {"maxLength": MAX_TEXT},
    "spec.matchConditions": {"maxItems": MAX_MATCH_CONDITIONS},
    "spec.auditAnnotations": {"maxItems": MAX_AUDIT_ANNOTATIONS},
    "spec.auditAnnotations[].valueExpression": {"maxLength": MAX_AUDIT_EXPRESSION_BYTES},
    # Of a message the API server keeps 5 KiB (admission-and-cel: messageExpression)
    "spec.validations[].message": {"maxLength": 5120},
    "spec.validationActions": {"maxItems": 3},
    "spec.claimTemplates": {"maxItems": MAX_CLAIM_TEMPLATES},
    "spec.claimTemplates[].name": {"maxLength": MAX_TEMPLATE_NAME},
    "spec.matchConstraints.resourceRules": {"minItems": 1, "maxItems": 16},
    "spec.matchConstraints.excludeResourceRules": {"maxItems": 16},
    **{f"{each}[].resourceNames": {"maxItems": 32} for each in _CONSTRAINTS},
    **{f"{each}[].{field}": {"minItems": 1, "maxItems": 32} for each in _CONSTRAINTS for field in _NOT_EMPTY},
    **{f"{each}[].{field}[]": {"minLength": 1} for each in _CONSTRAINTS for field in ("apiVersions", "resources")},
}
"""By the field's path, or for all of a kind."""
