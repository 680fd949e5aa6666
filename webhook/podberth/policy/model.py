"""The policy object: the content of a GPUPolicy document, as frozen models.

Names, defaults and limits are those of ValidatingAdmissionPolicy and MutatingAdmissionPolicy
(admissionregistration.k8s.io/v1) wherever these have the same field. A field with CEL holds its source here;
compilation checks its type. This module refuses invalid values of single fields, and ``refusals`` invalid combinations
of fields. ``parse`` adds file names, positions and messages for the author. The docstring of a field is also its
description in docs/policy.md and in the JSON Schema.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictBool, StrictInt

from ..cel.types import Want
from ..kube.paths import Path
from ..kube.selector import LabelRequirements
from ..wellknown import API_VERSION, POLICY_KIND
from .claim_template import ClaimTemplate
from .text_fields import (
    BoolExpression,
    DocumentPart,
    EnvName,
    ExpressionText,
    Gives,
    Identifier,
    IntExpression,
    LabelValue,
    MapExpression,
    MapsExpression,
    Message,
    NullableIntExpression,
    NullableStringExpression,
    QualifiedName,
    StringExpression,
    Subdomain,
    gives,
)

# ---- the requests and the params ------------------------------------------------------------------------------------


class LabelSelectorRequirement(DocumentPart):
    """One expression of a label selector (meta/v1)."""

    key: QualifiedName
    """The label's key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """The comparison with the label's value."""
    values: tuple[LabelValue, ...] = ()
    """For `In` and `NotIn` only."""


class LabelSelector(DocumentPart):
    """A label selector (meta/v1); the empty one selects everything."""

    match_labels: dict[QualifiedName, LabelValue] = Field(default_factory=dict)
    """Labels that must have exactly these values."""
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    """Requirements that must hold, all of them."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The selector as JSON, the form that ``kube.selector`` reads."""
        return self.model_dump(mode="json", by_alias=True)

    def model_post_init(self, _context: object, /) -> None:
        """Prepare the comparison here, so that no review waits for it."""
        self.matches  # noqa: B018 - it is kept

    @cached_property
    def matches(self) -> Callable[[Mapping[str, Any]], bool]:
        """Returns whether the selector selects some labels."""
        return LabelRequirements(self.document).match

    @property
    def empty(self) -> bool:
        """Whether the selector selects everything."""
        return not self.match_labels and not self.match_expressions


class Rule(DocumentPart):
    """Requests by operation and resource (NamedRuleWithOperations); ``*`` stands for all of a list."""

    operations: tuple[Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"], ...]
    """`*` is every operation."""
    api_groups: tuple[str, ...]
    """`""` is the core group."""
    api_versions: tuple[str, ...]
    """`v1` for pods."""
    resources: tuple[str, ...]
    """`pods`, `pods/ephemeralcontainers`, `pods/*`, `*`, `*/*`."""
    scope: Literal["*", "Namespaced", "Cluster"] = "*"
    """Whether the resource is in a namespace."""
    resource_names: tuple[str, ...] = ()
    """Empty: any name. A pod made by generateName has none yet."""


PODS_CREATED = Rule.model_validate(
    {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
)
"""The rule of a policy that names none: pods, when they are created."""


class MatchConstraints(DocumentPart):
    """The requests that the policy sees (MatchResources). An exclusion takes precedence over an inclusion."""

    resource_rules: tuple[Rule, ...] = (PODS_CREATED,)
    """Requests that the policy matches; an empty list is refused."""
    exclude_resource_rules: tuple[Rule, ...] = ()
    """Requests that it does not match; the same fields."""
    namespace_selector: LabelSelector = LabelSelector()
    """Labels of the request's namespace; empty: all."""
    object_selector: LabelSelector = LabelSelector()
    """Labels of the object or the old object; empty: all."""
    match_policy: Literal["Exact", "Equivalent"] = "Equivalent"
    """Accepted; both have the same effect, because the webhook entry decides in which version a request comes."""


class MatchCondition(DocumentPart):
    """A condition on the request; one that is false skips the policy."""

    name: QualifiedName
    """Unique; named in errors."""
    expression: BoolExpression
    """False: the policy is not evaluated."""


class Variable(DocumentPart):
    """A named expression, computed when first used; it sees the variables above it."""

    name: Identifier
    """Unique; used as `variables.<name>`."""
    expression: ExpressionText
    """Sees the variables above it."""


class ParamKind(DocumentPart):
    """The kind of the parameter objects: a ConfigMap."""

    api_version: Literal["v1"]
    """The version of ConfigMap."""
    kind: Literal["ConfigMap"]
    """No other kind holds params."""


class ParamRef(DocumentPart):
    """The objects that hold the parameters: one by name, or all that a selector selects, each evaluated in turn."""

    name: Subdomain | None = None
    """One ConfigMap; exactly one of name and selector."""
    label_selector: LabelSelector | None = Field(default=None, alias="selector")
    """All ConfigMaps of the namespace that it selects, each evaluated in turn."""
    namespace: Subdomain | None = None
    """None: the namespace of the request."""
    parameter_not_found_action: Literal["Allow", "Deny"]
    """Without a ConfigMap, `Allow`: the policy does not apply. `Deny`: an error, under failurePolicy."""

    @property
    def selector(self) -> dict[str, Any] | None:
        """The label selector as JSON; None if there is none."""
        return self.label_selector.document if self.label_selector is not None else None


# ---- the mutations -------------------------------------------------------------------------------------------------


class NodeAffinity(DocumentPart):
    """Node affinity terms, required or preferred."""

    required: MapsExpression | None = None
    """nodeSelectorTerms; exactly one of required and preferred."""
    preferred: MapsExpression | None = None
    """nodeSelectorTerms, each preferred with the weight."""
    weight: Annotated[StrictInt, Field(ge=1, le=100)] | None = None
    """With preferred only, and needed there."""


class Gang(DocumentPart):
    """The gang label of a pod and the settings of its group system."""

    name: StringExpression
    """A label value."""
    size: IntExpression | None = None
    """The number of pods; none or 0: unknown."""
    system: NullableStringExpression | None = None
    """The group system that a plain gang joins, `native`, `coscheduling` or `koordinator`; none or `''`: no group, or
    the native PodGroup of that name where it exists."""


class Topology(DocumentPart):
    """Placement of the pod's own gang, or of each slice of the gang, in one domain of a topology level."""

    level: StringExpression
    """A node label key; `''`: no change."""
    mode: Literal["required", "preferred"]
    """Whether the pod waits where no domain has room."""
    slice: NullableIntExpression | None = None
    """The number of members in each domain; none, 0 or 1: the whole gang."""


class Mutation(DocumentPart):
    """One thing to write, when ``when`` is true."""

    # A mutation has one field here, because documents enter here and the schema, the CRD and docs/policy.md are made
    # from these models. ``leaves_of`` reads the expressions by the types of fields; ``mutation.concerns`` has all else.

    name: QualifiedName | None = None
    """Unique; named in errors."""
    when: BoolExpression | None = None
    """False: this entry is skipped."""
    reason: StringExpression | None = None
    """The line for the user; none or null: podberth describes its change."""
    tolerations: MapsExpression | None = None
    """Maps with key, operator, value, effect, tolerationSeconds."""
    node_selector: Annotated[dict[QualifiedName, StringExpression], Field(min_length=1)] | None = None
    """Node labels by key; a null value leaves its key out."""
    node_affinity: NodeAffinity | None = None
    """Terms that the nodes must, or should, meet."""
    resources: MapsExpression | None = None
    """Maps with container, from, to, quantity."""
    gang: Gang | None = None
    """The gang that the pod belongs to."""
    topology: Topology | None = None
    """One domain for the pod's gang; for pods that a plain scheduler places."""
    labels: Annotated[dict[QualifiedName, StringExpression], Field(min_length=1)] | None = None
    """By key; a null value leaves its key out."""
    annotations: Annotated[dict[QualifiedName, StringExpression], Field(min_length=1)] | None = None
    """By key; a null value leaves its key out."""
    env: Annotated[dict[EnvName, StringExpression], Field(min_length=1)] | None = None
    """By name, for every container; a null value leaves its variable out."""
    scheduler_name: StringExpression | None = None
    """Set where the user has not set it; `''`: no change."""
    runtime_class_name: StringExpression | None = None
    """Set where the user has not set it; `''`: no change."""
    priority_class_name: StringExpression | None = None
    """Set where the user has not set it; `''`: no change."""
    resource_claims: MapsExpression | None = None
    """Maps with name, template, containers, requests, instead."""
    apply_configuration: MapExpression | None = None
    """A part of a Pod, merged as the API server merges it."""
    json_patch: MapsExpression | None = None
    """Operations of RFC 6902: maps with op, path, from, value."""

    @cached_property
    def written(self) -> dict[str, Any]:
        """The values of the entry's mutation fields, by concern; a valid entry has exactly one."""
        values = ((concern, getattr(self, field)) for concern, field in CONCERNS.items())
        return {concern: value for concern, value in values if value is not None}

    @property
    def concern(self) -> str:
        """The name of the entry's one mutation field."""
        return next(iter(self.written))


CONCERNS: Mapping[str, str] = {
    field.alias or name: name for name, field in Mutation.model_fields.items() if name not in ("name", "when", "reason")
}
"""The mutation fields by their names in documents, each with the name of its field in ``Mutation``."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One CEL expression of a mutation: its name, its path in the entry, its source, and the type of its value.

    By the name, ``mutation`` finds the value: a field's name or a key, or "" if the entry has only one expression.
    """

    name: str
    path: Path
    source: str
    want: Want
    may_be_null: bool = False
    """Whether the entry applies even if the value is null; otherwise, a null value skips the entry."""


def leaves_of(item: Mutation) -> tuple[Sequence[Leaf], Mapping[str, Any]]:
    """Return the expressions and the literals of a mutation entry, each by name; absent fields are left out."""
    concern, value = next(iter(item.written.items()))
    if isinstance(value, BaseModel):
        fields = list(_fields(value))
        leaves = [
            Leaf(name, (concern, name), source, of.want, of.may_be_null)
            for name, source, of in fields
            if of is not None
        ]
        return leaves, {name: literal for name, literal, of in fields if of is None}
    of = gives(Mutation.model_fields[CONCERNS[concern]])
    want = Want.ANY if of is None else of.want
    if isinstance(value, dict):
        # A null leaves out its own key, and no other.
        return [Leaf(key, (concern, key), source, want, may_be_null=True) for key, source in value.items()], {}
    return [Leaf("", (concern,), value, want)], {}


def _fields(value: BaseModel) -> Iterator[tuple[str, Any, Gives | None]]:
    """Yield the fields that are set in a part of a mutation: name, value, and the wanted type of its expression."""
    for name, field in type(value).model_fields.items():
        given = getattr(value, name)
        if given is not None:
            yield field.alias or name, given, gives(field)


# ---- the validations -----------------------------------------------------------------------------------------------


class Validation(DocumentPart):
    """An expression that must be true, and the message where it is not."""

    expression: BoolExpression
    """Must be true; all are evaluated, whatever the others return."""
    message: Message | None = None
    """The message where it is false; needed with an expression of several lines, unless there is a messageExpression.
    """
    message_expression: StringExpression | None = None
    """The message, computed. An error, a blank, a line break within it or more than 5 KiB falls back to `message`, as
    upstream."""
    reason: Literal["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"] = "Invalid"
    """Reason of the denial, with status code 401, 403, 422 or 413. The first denial sets it."""


class AuditAnnotation(DocumentPart):
    """A value for the audit log, published as ``<webhook>/<policy>.<key>``; null leaves it out."""

    key: QualifiedName
    """Unique. The API server publishes it as `<webhook>/<policy>.<key>`, so a key with a `/` or a long one is
    lost there."""
    value_expression: StringExpression
    """At most 5 KiB; null or a blank string leaves the annotation out, more than 10 KiB is truncated; under several
    params objects the values are joined, each once."""


class Rollout(DocumentPart):
    """The share of workloads that the policy applies to, by a stable hash of the top owner."""

    percent: Annotated[StrictInt, Field(ge=0, le=100)]
    """The share of workloads that the policy applies to."""


# ---- the object ----------------------------------------------------------------------------------------------------

DEFAULT_ORDER = 1000
"""The default order: after the shipped policies, which have 100 to 700."""


class Spec(DocumentPart):
    """The content of the policy."""

    description: str = ""
    """The purpose of the policy, in one sentence."""
    disabled: StrictBool = False
    """True: the policy decides nothing and is not compiled. An object then switches off the policy of its name that
    podberth has from files."""
    scope: Literal["GPU", "All"] = "GPU"
    """The pods: those that ask for accelerators or belong to a gang, or all that are sent."""
    order: StrictInt = DEFAULT_ORDER
    """Policies run by (order, name). The shipped ones have 100 to 700."""
    match_constraints: MatchConstraints = MatchConstraints()
    """The requests, by name."""
    match_conditions: tuple[MatchCondition, ...] = ()
    """The requests, by expression; at most 64."""
    param_kind: ParamKind | None = None
    """With `paramRef`, or neither."""
    param_ref: ParamRef | None = None
    """With `paramKind`, or neither."""
    variables: tuple[Variable, ...] = ()
    """Named expressions."""
    claim_templates: tuple[ClaimTemplate, ...] = ()
    """Templates of resource claims that `resourceClaims` names; at most 16."""
    mutations: tuple[Mutation, ...] = ()
    """The changes."""
    validations: tuple[Validation, ...] = ()
    """The conditions that must be true."""
    validation_actions: tuple[Literal["Deny", "Warn", "Audit"], ...] = ()
    """The effect of a failed validation; needed where there are validations. `Deny` with `Warn` is refused, as
    upstream."""
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    """Values for the audit log; at most 20."""
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    """The effect of an error."""
    rollout: Rollout | None = None
    """A share of the workloads."""


class Metadata(DocumentPart):
    """The object's metadata; fields of the API server are accepted and not read."""

    name: Subdomain
    """The policy's name in warnings, denials, metrics and the record."""
    labels: dict[QualifiedName, str] = Field(default_factory=dict)
    """Not read."""
    annotations: dict[QualifiedName, str] = Field(default_factory=dict)
    """`podberth.io/needs-every-pod` is read, and no other."""
    uid: Any = None
    resource_version: Any = None
    generation: Any = None
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: Any = None
    managed_fields: Any = None
    owner_references: Any = None
    finalizers: Any = None


class GPUPolicy(DocumentPart):
    """A policy, as a file or as an object of the cluster."""

    api_version: Literal[API_VERSION]  # type: ignore[valid-type]
    """The version of the policy format."""
    kind: Literal[POLICY_KIND]  # type: ignore[valid-type]
    """The kind of the document."""
    metadata: Metadata
    """The name, and fields of the API server."""
    spec: Spec
    """The content of the policy."""
    status: Any = None
    """Accepted, not read."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.metadata.name

    @property
    def sort_key(self) -> tuple[int, str]:
        """The sort key (order, name), by which policies are evaluated."""
        return self.spec.order, self.metadata.name
