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


class AnyParamKind(DocumentPart):
    """The apiVersion and kind of a policy's params, of any resource that the cluster serves."""

    api_version: str
    kind: str


class BindingParamRef(DocumentPart):
    """The params of a binding: one object by name, or all objects that a selector selects."""

    name: str = ""
    label_selector: LabelSelector | None = Field(default=None, alias="selector")
    namespace: str = ""
    parameter_not_found_action: Literal["Allow", "Deny"]


class NativeValidation(Validation):
    """An expression that must be true. The API server removes white space around the message.

    The reason "Unauthorized" is invalid here, although a GPUPolicy may have it.
    """

    message: str | None = None
    reason: Literal["Forbidden", "Invalid", "RequestEntityTooLarge"] = "Invalid"


class NativeSpec(DocumentPart):
    """The fields of native policies of both kinds."""

    param_kind: AnyParamKind | None = None
    match_constraints: MatchResources
    match_conditions: tuple[MatchCondition, ...] = ()
    variables: tuple[Variable, ...] = ()
    failure_policy: Literal["Fail", "Ignore"] = "Fail"


class ValidatingSpec(NativeSpec):
    """The content of a ValidatingAdmissionPolicy."""

    validations: tuple[NativeValidation, ...] = ()
    audit_annotations: tuple[AuditAnnotation, ...] = ()


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
    param_ref: BindingParamRef | None = None
    match_resources: MatchResources = MatchResources()


class ValidatingBindingSpec(MutatingBindingSpec):
    """The content of a ValidatingAdmissionPolicyBinding."""

    validation_actions: tuple[Literal["Deny", "Warn", "Audit"], ...]


class ValidatingAdmissionPolicyBinding(DocumentPart):
    """A ValidatingAdmissionPolicyBinding."""

    api_version: Literal["admissionregistration.k8s.io/v1"]
    kind: Literal["ValidatingAdmissionPolicyBinding"]
    metadata: NativeMetadata
    spec: ValidatingBindingSpec


class MutationExpression(DocumentPart):
    """The CEL expression of one mutation."""

    expression: str


class NativeMutation(DocumentPart):
    """One mutation: an applyConfiguration that is merged, or a list of JSON Patch operations."""

    patch_type: Literal["ApplyConfiguration", "JSONPatch"]
    apply_configuration: MutationExpression | None = None
    json_patch: MutationExpression | None = None


class MutatingSpec(NativeSpec):
    """The content of a MutatingAdmissionPolicy."""

    mutations: tuple[NativeMutation, ...] = ()
    reinvocation_policy: Literal["Never", "IfNeeded"]


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
