"""Native policies and their bindings (admissionregistration.k8s.io/v1) as frozen models.

The parts that a GPUPolicy also has come from ``policy.model``. A model refuses invalid values of single fields;
``refusals`` refuses invalid combinations.
"""

from typing import Any, Final, Literal, TypeAlias

from pydantic import Field

from ..policy.model import (
    AuditAnnotation,
    LabelSelector,
    MatchCondition,
    MatchConstraints,
    Metadata,
    Rule,
    Validation,
    Variable,
)
from ..policy.text_fields import DocumentPart, Subdomain

API_VERSION: Final = "admissionregistration.k8s.io/v1"
VALIDATING: Final = "ValidatingAdmissionPolicy"
VALIDATING_BINDING: Final = "ValidatingAdmissionPolicyBinding"
MUTATING: Final = "MutatingAdmissionPolicy"
MUTATING_BINDING: Final = "MutatingAdmissionPolicyBinding"


class NativeMetadata(Metadata):
    """The metadata of a native policy or binding; podberth reads only the name and ignores every other field."""

    generate_name: Any = None
    namespace: Any = None
    self_link: Any = None


class MatchResources(MatchConstraints):
    """The requests that a policy or a binding matches.

    A binding without rules matches all requests that the binding's policy matches.
    """

    resource_rules: tuple[Rule, ...] = ()
    """Requests that are matched."""


class AnyParamKind(DocumentPart):
    """The apiVersion and kind of a policy's params, of any resource that the cluster serves."""

    api_version: str
    """The apiVersion of the params."""
    kind: str
    """The kind of the params."""


class BindingParamRef(DocumentPart):
    """The params of a binding: one object by name, or all objects that a selector selects."""

    name: str = ""
    """The name of one object; either `name` or `selector` is needed."""
    label_selector: LabelSelector | None = Field(default=None, alias="selector")
    """The labels of the objects; the policy is evaluated for each."""
    namespace: str = ""
    """The namespace of the objects; none: the namespace of the request."""
    parameter_not_found_action: Literal["Allow", "Deny"]
    """The effect if there is no object. `Allow`: the policy does not apply. `Deny`: an error (`failurePolicy`)."""


class NativeValidation(Validation):
    """An expression that must be true. The API server removes white space around the message.

    The reason "Unauthorized" is invalid here, although a GPUPolicy may have it.
    """

    message: str | None = None
    """The message if the expression is false."""
    reason: Literal["Forbidden", "Invalid", "RequestEntityTooLarge"] = "Invalid"
    """The reason of the denial, with status code 403, 422 or 413."""


class NativeSpec(DocumentPart):
    """The fields of native policies of both kinds."""

    param_kind: AnyParamKind | None = None
    """The kind of the params; bindings name the objects."""
    match_constraints: MatchResources
    """The requests for which the policy is evaluated, by operation, resource and labels."""
    match_conditions: tuple[MatchCondition, ...] = ()
    """Further conditions on the requests, as expressions; at most 64."""
    variables: tuple[Variable, ...] = ()
    """Named expressions that other expressions use."""
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    """The effect of an error, such as an expression that fails."""


class ValidatingSpec(NativeSpec):
    """The content of a ValidatingAdmissionPolicy."""

    validations: tuple[NativeValidation, ...] = ()
    """The conditions on the object that must be true."""
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    """Values for the audit log; at most 20."""


class ValidatingAdmissionPolicy(DocumentPart):
    """A ValidatingAdmissionPolicy."""

    api_version: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["ValidatingAdmissionPolicy"]
    metadata: NativeMetadata
    spec: ValidatingSpec
    status: Any = None


class MutatingBindingSpec(DocumentPart):
    """The content of a MutatingAdmissionPolicyBinding."""

    policy_name: Subdomain
    """The name of the policy that the binding turns on."""
    param_ref: BindingParamRef | None = None
    """The params of the policy."""
    match_resources: MatchResources = MatchResources.model_construct()
    """Further constraints on the requests; none: all requests that the policy matches."""


class ValidatingBindingSpec(MutatingBindingSpec):
    """The content of a ValidatingAdmissionPolicyBinding."""

    validation_actions: tuple[Literal["Deny", "Warn", "Audit"], ...]
    """The effect of a failed validation; `Deny` together with `Warn` is refused."""


class ValidatingAdmissionPolicyBinding(DocumentPart):
    """A ValidatingAdmissionPolicyBinding."""

    api_version: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["ValidatingAdmissionPolicyBinding"]
    metadata: NativeMetadata
    spec: ValidatingBindingSpec


class MutationExpression(DocumentPart):
    """The CEL expression of one mutation."""

    expression: str
    """The change: an `Object`, or a list of `JSONPatch`."""


class NativeMutation(DocumentPart):
    """One mutation: an applyConfiguration that is merged, or a list of JSON Patch operations."""

    patch_type: Literal["ApplyConfiguration", "JSONPatch"]
    """The form of the change, which decides which of the other fields is needed."""
    apply_configuration: MutationExpression | None = None
    """Fields that are merged into the object, as in server-side apply."""
    json_patch: MutationExpression | None = None
    """Operations of JSON Patch (RFC 6902)."""


class MutatingSpec(NativeSpec):
    """The content of a MutatingAdmissionPolicy."""

    mutations: tuple[NativeMutation, ...] = ()
    """The changes of the object."""
    reinvocation_policy: Literal["Never", "IfNeeded"]
    """`IfNeeded`: the policy is evaluated again after later changes of the object."""


class MutatingAdmissionPolicy(DocumentPart):
    """A MutatingAdmissionPolicy of the API version v1; v1beta1 has equal fields, and Kubernetes 1.34 has no v1."""

    api_version: Literal["admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"]
    kind: Literal["MutatingAdmissionPolicy"]
    metadata: NativeMetadata
    spec: MutatingSpec
    status: Any = None


class MutatingAdmissionPolicyBinding(DocumentPart):
    """A MutatingAdmissionPolicyBinding."""

    api_version: Literal["admissionregistration.k8s.io/v1", "admissionregistration.k8s.io/v1beta1"]
    kind: Literal["MutatingAdmissionPolicyBinding"]
    metadata: NativeMetadata
    spec: MutatingBindingSpec


AnyPolicy: TypeAlias = ValidatingAdmissionPolicy | MutatingAdmissionPolicy
AnyBinding: TypeAlias = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding
