"""Refuses native policies and bindings whose fields are valid one by one but not together, as the API server does.

Source: pkg/apis/admissionregistration/validation/validation.go of kubernetes. Each check yields the path of a field,
and the problem of the field.
"""

from collections.abc import Iterator
from typing import Final

from ..kube.object_names import is_api_version, is_kind
from ..kube.paths import Path
from ..policy.model import Variable
from ..policy.refusals import refused_actions, refused_annotations, refused_conditions, refused_rules, refused_selector
from .model import (
    AnyBinding,
    AnyParamKind,
    AnyPolicy,
    BindingParamRef,
    MatchResources,
    MutatingAdmissionPolicyBinding,
    MutatingSpec,
    NativeMutation,
    NativeValidation,
    ValidatingSpec,
)

Refusals = Iterator[tuple[Path, str]]

MAX_VARIABLES: Final = 256
"""The limit for a policy's variables.

Each variable's program contains the variables that the variable uses: 1,200 variables that each use the one before take
19 s and 361 MB to compile.
"""
# celReserved, same file
_RESERVED: Final = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"}
    | {"let", "loop", "package", "namespace", "return", "var", "void", "while"}
)


def of_policy(policy: AnyPolicy) -> Refusals:
    """Yield the problems of a native policy whose fields contradict each other."""
    spec = policy.spec
    if not spec.match_constraints.resource_rules:
        yield ("spec", "matchConstraints", "resourceRules"), "got no rules, want at least one"
    yield from _match_resources(spec.match_constraints, ("spec", "matchConstraints"))
    yield from _param_kind(spec.param_kind)
    yield from refused_conditions(spec.match_conditions)
    yield from _variables(spec.variables)
    yield from _of_validating(spec) if isinstance(spec, ValidatingSpec) else _of_mutating(spec)


def too_large(policy: AnyPolicy) -> bool:
    """Return whether a native policy has more variables than podberth judges."""
    return len(policy.spec.variables) > MAX_VARIABLES


def _of_validating(spec: ValidatingSpec) -> Refusals:
    if not spec.validations and not spec.audit_annotations:
        yield ("spec", "validations"), "got neither validations nor auditAnnotations, want at least one"
    for index, each in enumerate(spec.validations):
        yield from _validation(each, ("spec", "validations", index))
    sizes = [len(each.value_expression.strip().encode(errors="replace")) for each in spec.audit_annotations]
    yield from refused_annotations(spec.audit_annotations, sizes, "the policy's name")


def _of_mutating(spec: MutatingSpec) -> Refusals:
    yield from _operations(spec.match_constraints, ("spec", "matchConstraints"))
    if not spec.mutations:
        yield ("spec", "mutations"), "got no mutations, want at least one"
    for index, each in enumerate(spec.mutations):
        yield from _mutation(each, ("spec", "mutations", index))


def _operations(resources: MatchResources, path: Path) -> Refusals:
    """Yield the problems of a mutating policy's rules about deletions, because a deleted object cannot be changed."""
    for index, rule in enumerate(resources.resource_rules):
        if "DELETE" in rule.operations:
            yield (*path, "resourceRules", index, "operations"), "got DELETE, want CREATE, UPDATE, CONNECT or '*'"


def _mutation(mutation: NativeMutation, path: Path) -> Refusals:
    both = {"applyConfiguration": mutation.apply_configuration, "jsonPatch": mutation.json_patch}
    own = "jsonPatch" if mutation.patch_type == "JSONPatch" else "applyConfiguration"
    for field, value in both.items():
        if field != own and value is not None:
            yield (*path, field), f"got {field} with patchType {mutation.patch_type}, want {own} alone"
    stated = both[own]
    if stated is None:
        yield path, f"got no {own}, want one with patchType {mutation.patch_type}"
    elif not stated.expression.strip():
        yield (*path, own, "expression"), "got no expression"


def of_binding(binding: AnyBinding) -> Refusals:
    """Yield the problems of a binding whose fields contradict each other."""
    spec = binding.spec
    yield from _match_resources(spec.match_resources, ("spec", "matchResources"))
    yield from _param_ref(spec.param_ref)
    if isinstance(binding, MutatingAdmissionPolicyBinding):
        yield from _operations(binding.spec.match_resources, ("spec", "matchResources"))
    else:
        if not binding.spec.validation_actions:
            yield ("spec", "validationActions"), "got no action, want at least one"
        yield from refused_actions(binding.spec.validation_actions)


def _match_resources(resources: MatchResources, path: Path) -> Refusals:
    for field, rules in (
        ("resourceRules", resources.resource_rules),
        ("excludeResourceRules", resources.exclude_resource_rules),
    ):
        yield from refused_rules(rules, (*path, field), _resources)
        for index, rule in enumerate(rules):
            for at, name in enumerate(rule.resource_names):
                if wrong := _no_segment(name):
                    yield (*path, field, index, "resourceNames", at), wrong
    yield from refused_selector(resources.namespace_selector, (*path, "namespaceSelector"))
    yield from refused_selector(resources.object_selector, (*path, "objectSelector"))


def _resources(resources: tuple[str, ...], path: Path) -> Refusals:
    """Yield the problems of a rule's resources, such as names that an earlier wildcard includes.

    The order of the resources matters, as for the API server.
    """
    last_plain, of_resource, of_sub_resource = "*", set[str](), set[str]()
    for index, item in enumerate(resources):
        name, slash, sub = item.partition("/")
        if not slash:
            last_plain = item
            continue
        if name in of_resource or sub in of_sub_resource:
            yield (*path, index), f"got {item!r} behind a wildcard that covers it"
        of_resource |= {name} if sub == "*" else set()
        of_sub_resource |= {sub} if name == "*" else set()
    if "*/*" in resources and len(resources) > 1:
        yield path, "got '*/*' and more, want '*/*' alone"
    if "*" in resources and last_plain != "*":
        yield path, "got '*' and more without subresources, want '*' alone"


def _param_kind(kind: AnyParamKind | None) -> Refusals:
    if kind is None:
        return
    if not is_api_version(kind.api_version):
        yield ("spec", "paramKind", "apiVersion"), f"got {kind.api_version!r}, want an apiVersion, as in v1 or group/v1"
    if not is_kind(kind.kind):
        yield ("spec", "paramKind", "kind"), f"got {kind.kind!r}, want the name of a kind, as in ConfigMap"


def _variables(variables: tuple[Variable, ...]) -> Refusals:
    if len(variables) > MAX_VARIABLES:
        message = (
            f"got {len(variables)} variables, of which podberth judges {MAX_VARIABLES} at most; the API server more"
        )
        yield ("spec", "variables"), message
    for index, each in enumerate(variables):
        if each.name in _RESERVED:
            yield ("spec", "variables", index, "name"), f"got {each.name!r}, a reserved word of CEL; want another name"


def _validation(validation: NativeValidation, path: Path) -> Refusals:
    message = validation.message
    if message and not message.strip():
        yield (*path, "message"), "got a blank message; remove it, or say what is wrong"
    elif message and any(each in message.strip() for each in "\n\r"):
        yield (*path, "message"), "got a message with a line break, want one line"


def _param_ref(reference: BindingParamRef | None) -> Refusals:
    if reference is None:
        return
    path = ("spec", "paramRef")
    if bool(reference.name) == (reference.label_selector is not None):
        yield path, "want exactly one of name and selector"
    if reference.name and (wrong := _no_segment(reference.name)):
        yield (*path, "name"), wrong
    if reference.label_selector is not None:
        yield from refused_selector(reference.label_selector, (*path, "selector"))


def _no_segment(name: str) -> str:
    """Return a message if a name cannot be part of a path (IsPathSegmentName); empty if the name can."""
    if name in {".", ".."} or any(each in name for each in "/%"):
        return f"got {name!r}, want the name of an object"
    return ""
