"""The policy object: what a GPUPolicy document may say, as frozen models.

Names, defaults and limits are those of ValidatingAdmissionPolicy and MutatingAdmissionPolicy
(admissionregistration.k8s.io/v1) wherever the idea is theirs. A field that takes CEL holds its source here; what it
must evaluate to is decided where it is compiled. What one field alone can say wrong is refused here, what takes
several in ``refusals``. Files, places and words for the author are ``parse``'s.
"""

from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StrictInt
from pydantic.alias_generators import to_camel

from ..wellknown import API_VERSION, POLICY_KIND, Concern
from .fields import EnvName, Expression, Identifier, Message, QualifiedName, Subdomain


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=False)


# ---- what the policy is asked about --------------------------------------------------------------------------------


class LabelSelectorRequirement(_Model):
    """One expression of a label selector (meta/v1)."""

    key: QualifiedName
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class LabelSelector(_Model):
    """A label selector (meta/v1); the empty one selects everything."""

    match_labels: dict[QualifiedName, str] = Field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    @cached_property
    def document(self) -> dict[str, Any]:
        """The selector as its JSON, which ``kube.selector`` reads."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def empty(self) -> bool:
        """Whether it selects everything."""
        return not self.match_labels and not self.match_expressions


class Rule(_Model):
    """Requests by operation and resource (NamedRuleWithOperations); ``*`` stands for all of a list."""

    operations: tuple[Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"], ...]
    api_groups: tuple[str, ...]
    api_versions: tuple[str, ...]
    resources: tuple[str, ...]
    scope: Literal["*", "Namespaced", "Cluster"] = "*"
    resource_names: tuple[str, ...] = ()


PODS_CREATED = Rule.model_validate(
    {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
)
"""The rule of a policy that names none: pods, when they are created."""


class MatchConstraints(_Model):
    """Which requests the policy sees (MatchResources). An exclusion beats an inclusion."""

    resource_rules: tuple[Rule, ...] = (PODS_CREATED,)
    exclude_resource_rules: tuple[Rule, ...] = ()
    namespace_selector: LabelSelector = LabelSelector()
    object_selector: LabelSelector = LabelSelector()
    match_policy: Literal["Exact", "Equivalent"] = "Equivalent"
    """As upstream; a request reaches podberth in the version its webhook entry names, so both read the same here."""


class MatchCondition(_Model):
    """A condition on the request; one that is false skips the policy."""

    name: QualifiedName
    expression: Expression


class Variable(_Model):
    """A named expression, computed when first used; it sees the ones above it."""

    name: Identifier
    expression: Expression


class ParamKind(_Model):
    """What kind of object the parameters are: a ConfigMap."""

    api_version: Literal["v1"]
    kind: Literal["ConfigMap"]


class ParamRef(_Model):
    """The objects that hold the parameters: one by name, or all that a selector selects, each asked in turn."""

    name: Subdomain | None = None
    label_selector: LabelSelector | None = Field(default=None, alias="selector")
    namespace: Subdomain | None = None
    """None: the namespace of the request."""
    parameter_not_found_action: Literal["Allow", "Deny"]
    """Allow: without an object the policy does not apply. Deny: that is an error, under failurePolicy."""

    @property
    def selector(self) -> dict[str, Any] | None:
        """The selector as its JSON."""
        return self.label_selector.document if self.label_selector is not None else None


# ---- what it writes ------------------------------------------------------------------------------------------------


class NodeAffinity(_Model):
    """Node affinity terms, required or preferred."""

    required: Expression | None = None
    preferred: Expression | None = None
    weight: Annotated[StrictInt, Field(ge=1, le=100)] | None = None


class Gang(_Model):
    """The gang label of a pod and what its group system wants to hear."""

    name: Expression
    size: Expression | None = None
    """Absent, or 0: not known."""


class Topology(_Model):
    """Pod affinity to the pod's own gang on one topology level; for pods that a plain scheduler places."""

    level: Expression
    mode: Literal["required", "preferred"]


CONCERNS: tuple[Concern, ...] = get_args(Concern)
"""What a mutation can write; each entry has exactly one."""


class Mutation(_Model):
    """One thing to write, when ``when`` holds."""

    name: QualifiedName | None = None
    when: Expression | None = None
    reason: Expression | None = None
    tolerations: Expression | None = None
    node_affinity: NodeAffinity | None = None
    resources: Expression | None = None
    gang: Gang | None = None
    topology: Topology | None = None
    labels: Annotated[dict[QualifiedName, Expression], Field(min_length=1)] | None = None
    annotations: Annotated[dict[QualifiedName, Expression], Field(min_length=1)] | None = None
    env: Annotated[dict[EnvName, Expression], Field(min_length=1)] | None = None
    scheduler_name: Expression | None = None
    runtime_class_name: Expression | None = None
    priority_class_name: Expression | None = None
    resource_claims: Expression | None = None
    apply_configuration: Expression | None = None
    json_patch: Expression | None = None

    @cached_property
    def concerns(self) -> tuple[Concern, ...]:
        """What the entry writes; exactly one in a policy that was not refused."""
        by_name = {field.alias: getattr(self, name) for name, field in type(self).model_fields.items()}
        return tuple(concern for concern in CONCERNS if by_name[concern] is not None)

    @property
    def concern(self) -> Concern:
        """The one thing that the entry writes."""
        return self.concerns[0]


# ---- what it judges ------------------------------------------------------------------------------------------------


class Validation(_Model):
    """An expression that must hold, and what to say where it does not."""

    expression: Expression
    message: Message | None = None
    message_expression: Expression | None = None
    reason: Literal["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"] = "Invalid"


class AuditAnnotation(_Model):
    """A value for the audit log, published as ``<webhook>/<policy>.<key>``; null leaves it out."""

    key: QualifiedName
    value_expression: Expression


class Rollout(_Model):
    """The share of workloads that the policy applies to, by a stable hash of the top owner."""

    percent: Annotated[StrictInt, Field(ge=0, le=100)]


# ---- the object ----------------------------------------------------------------------------------------------------

DEFAULT_ORDER = 1000
"""Behind the shipped policies, which take the hundreds below."""


class Spec(_Model):
    """What the policy does."""

    description: str = ""
    scope: Literal["GPU", "All"] = "GPU"
    order: StrictInt = DEFAULT_ORDER
    match_constraints: MatchConstraints = MatchConstraints()
    match_conditions: tuple[MatchCondition, ...] = ()
    param_kind: ParamKind | None = None
    param_ref: ParamRef | None = None
    variables: tuple[Variable, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    validations: tuple[Validation, ...] = ()
    validation_actions: tuple[Literal["Deny", "Warn", "Audit"], ...] = ()
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    rollout: Rollout | None = None


class Metadata(_Model):
    """The object's metadata; what the API server adds is accepted and not read."""

    name: Subdomain
    labels: dict[QualifiedName, str] = Field(default_factory=dict)
    annotations: dict[QualifiedName, str] = Field(default_factory=dict)
    uid: Any = None
    resource_version: Any = None
    generation: Any = None
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: Any = None
    managed_fields: Any = None
    owner_references: Any = None
    finalizers: Any = None


class GPUPolicy(_Model):
    """A policy, as a file or as an object of the cluster."""

    api_version: Literal[API_VERSION]  # type: ignore[valid-type]
    kind: Literal[POLICY_KIND]  # type: ignore[valid-type]
    metadata: Metadata
    spec: Spec
    status: Any = None

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.metadata.name

    @property
    def sort_key(self) -> tuple[int, str]:
        """Policies run in this order."""
        return self.spec.order, self.metadata.name
