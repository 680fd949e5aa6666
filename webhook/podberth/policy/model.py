"""The policy object: the content of a GPUPolicy document, as frozen models.

Names, defaults and limits are those of ValidatingAdmissionPolicy and MutatingAdmissionPolicy
(admissionregistration.k8s.io/v1) wherever these objects have the field. A field with CEL has the source text;
compilation checks the type. This module refuses invalid values of single fields, and ``refusals`` invalid combinations
of fields. The parser adds file names, positions and messages for the author. The docstring of a field is also its
description in docs/policy.md, docs/mutations.md and the JSON Schema.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictBool, StrictInt

from ..cel.types import Want
from ..kube.paths import Path
from ..kube.selector import LabelRequirements
from ..wellknown import API_VERSION, NAMESPACE, POLICY_KIND
from .claim_template import ClaimTemplate
from .text_fields import (
    BoolExpression,
    DocumentPart,
    EnvName,
    ExpressionText,
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
    """The label's values that are compared, for `In` and `NotIn` only."""


class LabelSelector(DocumentPart):
    """A label selector (meta/v1); the empty selector selects everything."""

    match_labels: dict[QualifiedName, LabelValue] = Field(default_factory=dict)
    """Labels that must have exactly these values."""
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    """Requirements on labels, all of which must hold."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The selector as JSON, for comparisons with labels."""
        return self.model_dump(mode="json", by_alias=True)

    def model_post_init(self, _context: object, /) -> None:
        """Compute ``matches`` now, because a review would wait for it otherwise."""
        self.matches  # noqa: B018 - the cached property keeps the result

    @cached_property
    def matches(self) -> Callable[[Mapping[str, Any]], bool]:
        """The function that returns whether the selector selects the given labels."""
        return LabelRequirements(self.document).match

    @property
    def empty(self) -> bool:
        """Whether the selector selects everything."""
        return not self.match_labels and not self.match_expressions


class Rule(DocumentPart):
    """A rule that selects requests by operation and resource (NamedRuleWithOperations); ``*`` matches every value."""

    operations: tuple[Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"], ...]
    """The operations; `*` is every operation."""
    api_groups: tuple[str, ...]
    """The API groups; `""` is the core group."""
    api_versions: tuple[str, ...]
    """The API versions; `v1` for pods."""
    resources: tuple[str, ...]
    """The resources, such as `pods`, `pods/ephemeralcontainers`, `pods/*`, `*` and `*/*`."""
    scope: Literal["*", "Namespaced", "Cluster"] = "*"
    """The scope of the resource; `*` is any scope."""
    resource_names: tuple[str, ...] = ()
    """The names of the objects; empty: any name. A pod with generateName has no name yet."""


PODS_CREATED = Rule.model_construct(operations=("CREATE",), api_groups=("",), api_versions=("v1",), resources=("pods",))
"""The resource rule of a policy that states none: the creation of pods."""


class MatchConstraints(DocumentPart):
    """The requests for which the policy is evaluated (MatchResources). Exclusions take precedence over inclusions."""

    resource_rules: tuple[Rule, ...] = (PODS_CREATED,)
    """Requests that the policy matches; an empty list is refused."""
    exclude_resource_rules: tuple[Rule, ...] = ()
    """Requests that the policy does not match; the rules have the same fields."""
    namespace_selector: LabelSelector = LabelSelector()
    """The labels of the request's namespace; empty: all namespaces."""
    object_selector: LabelSelector = LabelSelector()
    """The labels of the object or the old object; empty: all objects."""
    match_policy: Literal["Exact", "Equivalent"] = "Equivalent"
    """Both values have the same effect, because the webhook entry decides in which version a request is sent."""


class MatchCondition(DocumentPart):
    """A condition on the request; if a matchCondition is false, the policy is not evaluated."""

    name: QualifiedName
    """The condition's name, unique in the policy; errors contain it."""
    expression: BoolExpression
    """The condition; if it is false, the policy is not evaluated."""


class Variable(DocumentPart):
    """A named expression, evaluated when it is first used.

    The expression may use variables that are declared earlier.
    """

    name: Identifier
    """The variable's name, unique in the policy; expressions read it as `variables.<name>`."""
    expression: ExpressionText
    """The value; the expression may use the variables above it."""


class ParamKind(DocumentPart):
    """The Kubernetes kind of the parameter objects: ConfigMap."""

    api_version: Literal["v1"]
    """The API version of ConfigMap."""
    kind: Literal["ConfigMap"]
    """`ConfigMap`, the only kind of params."""


class ParamRef(DocumentPart):
    """The params objects: a ConfigMap by name, or all ConfigMaps that a selector selects.

    The policy is evaluated for each object.
    """

    name: Subdomain | None = None
    """The name of one ConfigMap; either `name` or `selector` is needed."""
    label_selector: LabelSelector | None = Field(default=None, alias="selector")
    """The labels of the ConfigMaps in the namespace; the policy is evaluated for each in turn."""
    namespace: Subdomain | None = None
    """The namespace of the ConfigMap; none: the namespace of the request."""
    parameter_not_found_action: Literal["Allow", "Deny"]
    """The effect if there is no ConfigMap. `Allow`: the policy does not apply. `Deny`: an error (`failurePolicy`)."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether the ConfigMaps are in a namespace other than podberth's own, such as that of the request."""
        return self.namespace != NAMESPACE

    @property
    def selector(self) -> dict[str, Any] | None:
        """The label selector as JSON; None if the policy has no selector."""
        return self.label_selector.document if self.label_selector is not None else None


# ---- the mutations -------------------------------------------------------------------------------------------------


class NodeAffinity(DocumentPart):
    """Node affinity terms, required or preferred."""

    required: MapsExpression | None = None
    """The required nodeSelectorTerms; either `required` or `preferred` is needed."""
    preferred: MapsExpression | None = None
    """The preferred nodeSelectorTerms, each with the weight."""
    weight: Annotated[StrictInt, Field(ge=1, le=100)] | None = None
    """The weight of each preferred term; needed with `preferred`, and allowed only there."""


class Gang(DocumentPart):
    """The gang label of a pod and the settings of its group system."""

    name: StringExpression
    """The gang's name, a label value."""
    size: IntExpression | None = None
    """The number of pods in the gang; none or 0: unknown."""
    system: NullableStringExpression | None = None
    """The group system whose PodGroup a plain gang joins: `native`, `coscheduling` or `koordinator`. None or `''`: the
    native PodGroup with the gang's name if it exists, else no group."""


class Topology(DocumentPart):
    """The placement of the pod's gang, or of each slice of the gang, in one domain of a topology level."""

    level: StringExpression
    """The topology level, a node label key; `''`: no change."""
    mode: Literal["required", "preferred"]
    """`required`: the pod waits if no domain has room. `preferred`: it does not wait."""
    slice: NullableIntExpression | None = None
    """The number of members in a slice, which is placed in one domain; none, 0 or 1: the whole gang."""


class Mutation(DocumentPart):
    """One change of the pod, which applies if ``when`` is true."""

    # Each kind of mutation has one field here: these models parse documents, and the schema, the CRD and the pages
    # are made from them. ``leaves_of`` finds expressions by the types of fields; ``mutation.concerns`` has the rest.

    name: QualifiedName | None = None
    """The mutation's name, unique in the policy; errors contain it."""
    when: BoolExpression | None = None
    """The condition of this entry; if it is false, the entry is skipped."""
    reason: StringExpression | None = None
    """The message for the user; none or null: podberth describes the change."""
    tolerations: MapsExpression | None = None
    """The tolerations: maps with key, operator, value, effect, tolerationSeconds."""
    node_selector: Annotated[dict[QualifiedName, StringExpression], Field(min_length=1)] | None = None
    """The values of node labels, by key; a key with a null value is left out."""
    node_affinity: NodeAffinity | None = None
    """The terms that the pod requires or prefers of its node."""
    resources: MapsExpression | None = None
    """The replaced resources: maps with container, from, to, quantity."""
    gang: Gang | None = None
    """The gang that the pod belongs to."""
    topology: Topology | None = None
    """The placement of the pod's gang in one domain, for gangs that no group system places."""
    labels: Annotated[dict[QualifiedName, StringExpression], Field(min_length=1)] | None = None
    """The values of labels, by key; a key with a null value is left out."""
    annotations: Annotated[dict[QualifiedName, StringExpression], Field(min_length=1)] | None = None
    """The values of annotations, by key; a key with a null value is left out."""
    env: Annotated[dict[EnvName, StringExpression], Field(min_length=1)] | None = None
    """The values of variables in every container, by name; a variable with a null value is left out."""
    scheduler_name: StringExpression | None = None
    """The schedulerName, if the user has not set it; `''`: no change."""
    runtime_class_name: StringExpression | None = None
    """The runtimeClassName, if the user has not set it; `''`: no change."""
    priority_class_name: StringExpression | None = None
    """The priorityClassName, if the user has not set it; `''`: no change."""
    resource_claims: MapsExpression | None = None
    """The added claims: maps with name, template, containers, requests, instead."""
    apply_configuration: MapExpression | None = None
    """Fields of a Pod, which are merged into the pod as the API server merges them."""
    json_patch: MapsExpression | None = None
    """Operations of RFC 6902: maps with op, path, from, value."""

    @cached_property
    def written(self) -> dict[str, Any]:
        """The values of the mutation's fields, by concern; a valid mutation has exactly one."""
        values = ((concern, getattr(self, field)) for concern, field in CONCERNS.items())
        return {concern: value for concern, value in values if value is not None}

    @property
    def concern(self) -> str:
        """The name of the field that says what the mutation writes, such as ``tolerations``; empty if there is none."""
        return next(iter(self.written), "")


CONCERNS: Mapping[str, str] = {
    field.alias or name: name for name, field in Mutation.model_fields.items() if name not in ("name", "when", "reason")
}
"""The mutation fields by their names in documents, each with the name of its field in ``Mutation``."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One CEL expression of a mutation: its name, its path in the mutation, its source, and the type of its value.

    The name is the field of the mutation with the expression, such as ``size``, or the key, such as that of a label. It
    is "" if the mutation has only one expression. The expression's value has the same name in ``Proposal.leaves``.
    """

    name: str
    path: Path
    source: str
    want: Want
    may_be_null: bool = False
    """Whether the entry applies even if the value is null; otherwise, a null value skips the entry."""


def leaves_of(item: Mutation) -> tuple[Sequence[Leaf], Mapping[str, Any]]:
    """Return the expressions and the literals of a mutation, each by name; absent fields are left out."""
    leaves, literals = list[Leaf](), dict[str, Any]()
    for concern, value in item.written.items():
        if isinstance(value, BaseModel):
            for attribute, field in type(value).model_fields.items():
                given, name, of = getattr(value, attribute), field.alias or attribute, gives(field)
                if given is not None and of is not None:
                    leaves.append(Leaf(name, (concern, name), given, of.want, of.may_be_null))
                elif given is not None:
                    literals[name] = given
            continue
        of = gives(Mutation.model_fields[CONCERNS[concern]])
        want = Want.ANY if of is None else of.want
        if isinstance(value, dict):
            # A null value leaves out only its own key.
            leaves += [Leaf(key, (concern, key), source, want, may_be_null=True) for key, source in value.items()]
        else:
            leaves.append(Leaf("", (concern,), value, want))
    return leaves, literals


# ---- the validations -----------------------------------------------------------------------------------------------


class Validation(DocumentPart):
    """An expression that must be true, and the message if it is not."""

    expression: BoolExpression
    """The condition that must be true; all validations are evaluated, whatever the others return."""
    message: Message | None = None
    """The message if the expression is false; needed with an expression of several lines, unless there is a
    messageExpression."""
    message_expression: StringExpression | None = None
    """An expression for the message. If it fails, or its value is blank, has a line break inside or more than 5 KiB,
    `message` is used, as upstream."""
    reason: Literal["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"] = "Invalid"
    """The reason of the denial, with status code 401, 403, 422 or 413. The first denial decides it."""


class AuditAnnotation(DocumentPart):
    """A value for the audit log, published as ``<webhook>/<policy>.<key>``; a null value is left out."""

    key: QualifiedName
    """The key, unique in the policy, without `/`. The API server publishes it as `<webhook>/<policy>.<key>`, so a long
    key is lost."""
    value_expression: StringExpression
    """The value. The expression has at most 5 KiB. A null or blank value leaves the annotation out, and a value of more
    than 10 KiB is truncated. With several params objects, the different values are joined."""


class Rollout(DocumentPart):
    """The percentage of workloads that the policy applies to, chosen by a stable hash of the top owner."""

    percent: Annotated[StrictInt, Field(ge=0, le=100)]
    """The percentage of workloads that the policy applies to."""


# ---- the object ----------------------------------------------------------------------------------------------------

DEFAULT_ORDER = 1000
"""The default ``order`` of a policy: after the shipped policies, which have 50 to 720."""


class Spec(DocumentPart):
    """The content of the policy."""

    description: str = ""
    """The purpose of the policy, in one sentence."""
    disabled: StrictBool = False
    """True: the policy decides nothing and is not compiled. An object in the cluster also disables the policy of the
    same name that podberth has from files."""
    scope: Literal["GPU", "All"] = "GPU"
    """The pods for which the policy is evaluated. `GPU`: pods that ask for accelerators or belong to a gang. `All`: all
    pods that the webhook gets, and pods without GPUs are sent only with the component `all-pods`."""
    order: StrictInt = DEFAULT_ORDER
    """The place among all policies, which are evaluated by order, then by name. Shipped policies have 50 to 720."""
    match_constraints: MatchConstraints = MatchConstraints.model_construct()
    """The requests for which the policy is evaluated, by operation, resource and labels."""
    match_conditions: tuple[MatchCondition, ...] = ()
    """Further conditions on the requests, as expressions; at most 64."""
    param_kind: ParamKind | None = None
    """The kind of the params; only together with `paramRef`."""
    param_ref: ParamRef | None = None
    """The params objects; only together with `paramKind`."""
    variables: tuple[Variable, ...] = ()
    """Named expressions that other expressions use."""
    claim_templates: tuple[ClaimTemplate, ...] = ()
    """Templates of resource claims that `resourceClaims` names; at most 16."""
    mutations: tuple[Mutation, ...] = ()
    """The changes of the pod."""
    validations: tuple[Validation, ...] = ()
    """The conditions on the pod that must be true."""
    validation_actions: tuple[Literal["Deny", "Warn", "Audit"], ...] = ()
    """The effect of a failed validation; needed if there are validations. `Deny` together with `Warn` is refused, as
    upstream."""
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    """Values for the audit log; at most 20."""
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    """The effect of an error, such as an expression or a mutation that fails."""
    rollout: Rollout | None = None
    """The percentage of workloads that the policy applies to; none: all workloads."""


class Metadata(DocumentPart):
    """The object's metadata; fields that the API server writes are accepted and ignored."""

    name: Subdomain
    """The policy's name in warnings, denials, metrics and the record."""
    labels: dict[QualifiedName, str] = Field(default_factory=dict)
    """The object's labels; podberth does not read them."""
    annotations: dict[QualifiedName, str] = Field(default_factory=dict)
    """The object's annotations; podberth reads only `podberth.io/needs-every-pod`."""
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
    """The status; podberth accepts it in a document and does not read it."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.metadata.name

    @property
    def sort_key(self) -> tuple[int, str]:
        """The sort key (order, name), by which policies are evaluated."""
        return self.spec.order, self.metadata.name
