"""Computes the answers of the API server's RBAC authorizer, from Roles, ClusterRoles and their bindings in files.

Source: plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac/validation and pkg/apis/rbac/v1 of kubernetes. As in the API
server, the group system:masters may do everything. Other authorizers (Node, webhooks) are not known here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, ValidationError

from ..cel.libraries.authz import Answer, Question, UnknownAnswerError, User
from ..errors import Problem
from ..facts.object_kinds import unlist
from ..kube.documents import PositionedDocument
from ..kube.paths import Path
from ..kube.unchecked import text_at
from ..policy.model import LabelSelector
from ..policy.text_fields import DocumentPart
from ..policy.wording import explain

GROUP: Final = "rbac.authorization.k8s.io"
_MASTERS: Final = "system:masters"
"""The group that the first authorizer of the API server always allows (user.SystemPrivilegedGroup)."""


class _Metadata(DocumentPart, extra="ignore"):
    """The metadata of a role or a binding; other fields are ignored."""

    name: Annotated[str, Field(min_length=1)]
    namespace: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    uid: Any = None


class _Rule(DocumentPart):
    """A rule of a role: the API groups, resources or paths, and the verbs that the role allows."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = Field(default=(), alias="nonResourceURLs")

    def allows(self, question: Question) -> bool:
        """Return whether the rule allows the access that the question is about (RuleAllows)."""
        if not {"*", question.verb} & set(self.verbs):
            return False
        if question.path:
            return any(_is_path(each, question.path) for each in self.non_resource_urls)
        whole = f"{question.resource}/{question.subresource}" if question.subresource else question.resource
        wanted = {"*", whole} | ({f"*/{question.subresource}"} if question.subresource else set())
        return bool(
            {"*", question.group} & set(self.api_groups)
            and wanted & set(self.resources)
            and (not self.resource_names or question.name in self.resource_names)
        )


class _Aggregation(DocumentPart):
    """The field aggregationRule of a ClusterRole, which selects ClusterRoles whose rules the ClusterRole gets."""

    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class _Role(DocumentPart):
    """A Role or a ClusterRole."""

    api_version: Literal["rbac.authorization.k8s.io/v1"]
    kind: Literal["Role", "ClusterRole"]
    metadata: _Metadata
    rules: tuple[_Rule, ...] | None = None


class _ClusterRole(_Role):
    """A ClusterRole."""

    aggregation_rule: _Aggregation | None = None


class _Reference(DocumentPart):
    """The field roleRef of a RoleBinding or ClusterRoleBinding."""

    api_group: str = GROUP
    kind: Literal["Role", "ClusterRole"]
    name: str


class _Subject(DocumentPart):
    """A subject of a binding: a user, a group or a service account."""

    kind: Literal["User", "Group", "ServiceAccount"]
    api_group: str = ""
    name: str
    namespace: str = ""

    def means(self, user: User, namespace: str) -> bool:
        """Return whether a user is the subject of a binding in a namespace (appliesToUser)."""
        match self.kind:
            case "User":
                return user.name == self.name
            case "Group":
                return self.name in user.groups
        within = self.namespace or namespace
        return bool(within) and user.name == f"system:serviceaccount:{within}:{self.name}"

    def described(self, namespace: str) -> str:
        """Return the subject as the API server writes it in messages (describeSubject)."""
        name = f"{self.name}/{self.namespace or namespace}" if self.kind == "ServiceAccount" else self.name
        return f'{self.kind} "{name}"'


class _Binding(DocumentPart):
    """A RoleBinding or a ClusterRoleBinding."""

    api_version: Literal["rbac.authorization.k8s.io/v1"]
    kind: Literal["RoleBinding", "ClusterRoleBinding"]
    metadata: _Metadata
    subjects: tuple[_Subject, ...] | None = None
    role_ref: _Reference

    @property
    def namespace(self) -> str:
        """The namespace in which the binding is in force; empty for a ClusterRoleBinding."""
        return "" if self.kind == "ClusterRoleBinding" else self.metadata.namespace or "default"

    @property
    def name(self) -> str:
        """The binding's name as the API server writes it in messages: ``name/namespace``, or the name alone."""
        return f"{self.metadata.name}/{self.namespace}" if self.namespace else self.metadata.name


_Object: TypeAlias = _Role | _Binding
_MODELS: Final[Mapping[str, type[_Object]]] = {
    "ClusterRole": _ClusterRole,
    "Role": _Role,
    "RoleBinding": _Binding,
    "ClusterRoleBinding": _Binding,
}


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of all users of a cluster, by which the CEL variable ``authorizer`` is evaluated."""

    rules: Mapping[tuple[str, str, str], Sequence[_Rule]]
    """The rules of each role, by the role's kind, namespace and name."""
    bindings: Sequence[_Binding]
    """The ClusterRoleBindings, then the RoleBindings, each sorted by namespace and name."""

    def answer(self, question: Question) -> Answer:
        """Return whether the user in a question has the right in the question, with the API server's reason.

        If several bindings grant the right, the API server may name any of them in the reason; podberth names the
        first.

        Raises:
            UnknownAnswerError: no known role grants the right, and a binding of the user names a role that is not in
                ``rules``.
        """
        if _MASTERS in question.user.groups:
            return Answer(allowed=True)
        lacking = ""
        for binding in self.bindings:
            namespace = binding.namespace
            if namespace and namespace != question.namespace:
                continue
            subject = next((each for each in binding.subjects or () if each.means(question.user, namespace)), None)
            if subject is None:
                continue
            reference = binding.role_ref
            rules = self.rules.get((reference.kind, namespace if reference.kind == "Role" else "", reference.name))
            if rules is None:
                lacking = lacking or f"{binding.kind} {binding.name} names {reference.kind} {reference.name}"
            elif any(each.allows(question) for each in rules):
                role = f'{reference.kind} "{reference.name}"'
                reason = f'{binding.kind} "{binding.name}" of {role} to {subject.described(namespace)}'
                return Answer(allowed=True, reason=f"RBAC: allowed by {reason}")
        if lacking:
            raise UnknownAnswerError(f"{lacking}, which is not given; add it to the file of --authorizer")
        return Answer(allowed=False)


def is_rbac(document: Mapping[str, Any]) -> bool:
    """Return whether a document is a role or a binding."""
    return text_at(document, "kind") in _MODELS and text_at(document, "apiVersion").startswith(f"{GROUP}/")


def rights_of(documents: Iterable[tuple[str, PositionedDocument]]) -> tuple[Rights, list[Problem]]:
    """Return (the rights in documents, the problems of documents that the API server refuses).

    ``documents`` are pairs of (file name, document). Documents that are no roles and bindings are ignored. Of two
    objects of equal kind and name the last is used, as in kubectl apply.
    """
    found: dict[tuple[str, str, str], _Object] = {}
    problems: list[Problem] = []
    for file, document in documents:
        for root, content in _objects(document.document):
            model = _MODELS[text_at(content, "kind")]
            try:
                made = model.model_validate(_without_nulls(content))
            except ValidationError as error:
                problem = partial(document.positions.problem, file)
                problems += [problem((*root, *path), text) for path, _, text in explain(error, model)]
                continue
            found[made.kind, _namespace_of(made), made.metadata.name] = made
    return _rights(found.values()), sorted(problems)


def _objects(document: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield (path, content) of each role and binding in a document, which may be a List as kubectl prints it."""
    items = document.get("items")
    is_list = text_at(document, "kind").endswith("List") and isinstance(items, list)
    for index, each in enumerate(unlist(document)):
        if is_rbac(each):
            yield (("items", index) if is_list else ()), each


def _rights(objects: Iterable[_Object]) -> Rights:
    every = list(objects)
    roles = [each for each in every if not isinstance(each, _Binding)]
    cluster_roles = sorted(
        (each for each in roles if isinstance(each, _ClusterRole)), key=lambda each: each.metadata.name
    )
    rules: dict[tuple[str, str, str], Sequence[_Rule]] = {
        (each.kind, _namespace_of(each), each.metadata.name): each.rules or () for each in roles
    }
    for each in cluster_roles:
        # The rules of an object of a cluster are those that its controller has written
        if each.aggregation_rule is not None and each.metadata.uid is None:
            made = _aggregated(each, cluster_roles)
            rules[each.kind, "", each.metadata.name] = tuple(made)
    bindings = (each for each in every if isinstance(each, _Binding))
    return Rights(rules, sorted(bindings, key=lambda each: (each.kind, each.namespace, each.metadata.name)))


def _aggregated(role: _ClusterRole, every: Sequence[_ClusterRole]) -> Iterator[_Rule]:
    """Yield the rules of the ClusterRoles that a ClusterRole selects (clusterroleaggregation_controller.go)."""
    selectors = role.aggregation_rule.cluster_role_selectors if role.aggregation_rule else ()
    for other in every:
        if other is not role and any(each.matches(other.metadata.labels) for each in selectors):
            yield from other.rules or ()


def _namespace_of(made: _Object) -> str:
    if isinstance(made, _Binding):
        return made.namespace
    return made.metadata.namespace or "default" if made.kind == "Role" else ""


def _is_path(stated: str, path: str) -> bool:
    """Return whether a nonResourceURL covers a path (NonResourceURLMatches)."""
    return stated in ("*", path) or (stated.endswith("*") and path.startswith(stated.rstrip("*")))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
