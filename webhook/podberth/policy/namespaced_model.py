"""The policy of one namespace: the content of a NamespacedGPUPolicy document, as frozen models.

The policy can deny pods of its own namespace, or warn about pods, and nothing else. It has no mutations and no
auditAnnotations, makes no exceptions, and cannot read other namespaces or nodes. The docstring of a field is also its
description in the CRD.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from ..kube.object_names import MAX_LABEL, is_label
from ..wellknown import API_VERSION, NAMESPACED_KIND, POLICY_KIND
from .model import PODS_CREATED as _PODS_CREATED
from .model import GPUPolicy, LabelSelector, MatchCondition, Metadata, ParamKind, Rule, Validation, Variable
from .text_fields import DocumentPart, Subdomain, named

MAX_RULES = 8
"""The maximum number of resource rules: pods and their ephemeral containers, on CREATE and UPDATE, need two."""


class NamespacedConstraints(DocumentPart):
    """The requests for which the policy is evaluated, in its own namespace."""

    resource_rules: Annotated[tuple[Rule, ...], Field(max_length=MAX_RULES)] = (_PODS_CREATED,)
    """Requests that the policy matches; an empty list is refused."""
    exclude_resource_rules: Annotated[tuple[Rule, ...], Field(max_length=MAX_RULES)] = ()
    """Requests that the policy does not match; the rules have the same fields."""
    object_selector: LabelSelector = LabelSelector()
    """The labels of the object or the old object; empty: all objects."""


class NamespacedParamRef(DocumentPart):
    """The params object: a ConfigMap in the namespace of the policy, with the label `podberth.io/params`."""

    name: Subdomain
    """The name of the ConfigMap."""
    parameter_not_found_action: Literal["Allow", "Deny"]
    """The effect if there is no ConfigMap. `Allow`: the policy does not apply. `Deny`: an error (`failurePolicy`)."""


class NamespacedSpec(DocumentPart):
    """The content of the policy."""

    description: str = ""
    """The purpose of the policy, in one sentence."""
    disabled: StrictBool = False
    """True: the policy decides nothing and is not compiled."""
    scope: Literal["GPU", "All"] = "GPU"
    """The pods for which the policy is evaluated. `GPU`: pods that ask for accelerators or belong to a gang. `All`: all
    pods of the namespace that the webhook gets."""
    match_constraints: NamespacedConstraints = NamespacedConstraints.model_construct()
    """The requests for which the policy is evaluated, by operation, resource and labels."""
    match_conditions: tuple[MatchCondition, ...] = ()
    """Further conditions on the requests, as expressions; at most 64."""
    param_kind: ParamKind | None = None
    """The kind of the params; only together with `paramRef`."""
    param_ref: NamespacedParamRef | None = None
    """The params object; only together with `paramKind`."""
    variables: tuple[Variable, ...] = ()
    """Named expressions that other expressions use."""
    validations: Annotated[tuple[Validation, ...], Field(min_length=1)]
    """The conditions on the pod that must be true."""
    validation_actions: Annotated[tuple[Literal["Deny", "Warn"], ...], Field(min_length=1, max_length=1)]
    """The effect of a failed validation."""
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    """The effect of an error, such as an expression that fails."""


class NamespacedMetadata(Metadata):
    """The object's metadata."""

    namespace: Annotated[
        str,
        named(is_label, f"the name of a namespace, a DNS-1123 label of at most {MAX_LABEL} characters"),
    ]
    """The namespace of the policy and of the pods that it is about."""


class NamespacedGPUPolicy(DocumentPart):
    """A policy of one namespace, from a file or from the cluster. It can deny and warn, and nothing else."""

    api_version: Literal[API_VERSION]  # type: ignore[valid-type]
    """The version of the format."""
    kind: Literal[NAMESPACED_KIND]  # type: ignore[valid-type]
    """The kind of the document."""
    metadata: NamespacedMetadata
    """The name and the namespace, and fields of the API server."""
    spec: NamespacedSpec
    """The content of the policy."""
    status: Any = None
    """The status; podberth accepts it in a document and does not read it."""

    @property
    def name(self) -> str:
        """The policy's name as ``namespace/name``; no GPUPolicy has such a name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    def as_policy(self) -> GPUPolicy:
        """Return the policy as a GPUPolicy: each field of the policy is a field of GPUPolicy, too."""
        spec = self.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
        metadata = {"name": self.metadata.name}
        return GPUPolicy.model_validate(
            {"apiVersion": API_VERSION, "kind": POLICY_KIND, "metadata": metadata, "spec": spec}
        )
