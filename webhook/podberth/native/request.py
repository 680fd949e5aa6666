"""The admission request that creates an object, as seen by a native policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ..kube.unchecked import text_at
from ..policy.match import MatchRequest, any_matches, unselected
from ..policy.model import MatchConstraints
from .as_created import as_created, as_received
from .resources import ResourceKind, Resources, is_of_kubernetes

_OPTIONS: Final = {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """An admission request that creates an object."""

    kind: ResourceKind
    equivalents: Sequence[ResourceKind]
    """The other groups and versions under which the API server serves the object."""
    object: Mapping[str, Any]
    """The object as seen by validation (``as_created``)."""
    stated_name: str
    """The name in the document; empty if the API server generates the name from generateName."""
    user: Mapping[str, Any]
    """The requester, as ``request.userInfo``."""

    @property
    def name(self) -> str:
        """The object's name. In a request that validation sees, generateName has been replaced by a generated name."""
        return text_at(self.object, "metadata", "name")

    @property
    def namespace(self) -> str:
        """The request's namespace. For a Namespace, the Namespace's name; empty for other cluster-scoped objects."""
        if self.is_namespace:
            return self.stated_name
        return str(self.object["metadata"].get("namespace") or "") if self.kind.namespaced else ""

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a Namespace, for which the CEL variable ``namespaceObject`` is null."""
        return (self.kind.api_version, self.kind.kind) == ("v1", "Namespace")

    def as_cel(self, matched: ResourceKind) -> dict[str, Any]:
        """Return the CEL variable ``request`` for a policy that matches the request as the resource ``matched``.

        If ``name`` or ``namespace`` is empty, the field is absent.
        """
        names = {"name": self.name, "namespace": self.namespace}
        return {
            "kind": _kind(matched),
            "resource": _resource(matched),
            "requestKind": _kind(self.kind),
            "requestResource": _resource(self.kind),
            **{key: value for key, value in names.items() if value},
            "operation": "CREATE",
            "userInfo": self.user,
            "dryRun": False,
            "options": _OPTIONS,
        }

    def as_match_request(self) -> MatchRequest:
        """Return the fields of the request that matchConstraints depend on."""
        return MatchRequest(
            operation="CREATE",
            group=self.kind.group,
            version=self.kind.version,
            resource=self.kind.plural,
            sub_resource="",
            name=self.name,
            namespace=self.namespace,
            object=self.object,
            old_object=None,
        )

    def as_kind(self, kind: ResourceKind) -> Mapping[str, Any]:
        """Return the object in another API version of its kind; only the field ``apiVersion`` differs."""
        return self.object if kind == self.kind else {**self.object, "apiVersion": kind.api_version}


def creation_of(
    document: Mapping[str, Any],
    resources: Resources,
    *,
    namespace: str,
    user: Mapping[str, Any],
    received: bool = False,
) -> tuple[Creation | None, list[str]]:
    """Return (the request that creates a document's object, []), or (None, the reasons why there is no request).

    Args:
        document: the object as written; a Pod with the defaults that a mutating webhook sees.
        resources: the known resources.
        namespace: the namespace of a namespaced object that names no namespace.
        user: the requester, as in ``request.userInfo``.
        received: True: the request has the object as mutation sees it; False: as validation sees it.
    """
    version, kind = text_at(document, "apiVersion"), text_at(document, "kind")
    known = resources.of(version, kind)
    if known is None:
        if is_of_kubernetes(version):
            return None, [f"Kubernetes 1.36 does not serve {version} {kind} by default"]
        return None, [f"the resource of {version} {kind} is not known; give its CustomResourceDefinition"]
    made, problems = (as_received if received else as_created)(document, known, namespace)
    if problems:
        return None, problems
    creation = Creation(
        kind=known,
        equivalents=resources.equivalents(known),
        object=made,
        stated_name=text_at(document, "metadata", "name"),
        user=user,
    )
    return creation, []


def matched_kind(
    constraints: MatchConstraints, creation: Creation, namespaces: Mapping[str, Mapping[str, Any]]
) -> ResourceKind | None:
    """Return the resource (API group, version and kind) under which constraints match a creation; None without a match.

    Constraints without rules match every resource.

    Source: Matcher.Matches, apiserver pkg/admission/plugin/policy/matching/matching.go.

    Raises:
        NamespaceUnknownError: all other constraints match, and the labels that the namespaceSelector needs are unknown.
    """
    request = creation.as_match_request()
    kinds = [creation.kind]
    if constraints.match_policy == "Equivalent":
        kinds += creation.equivalents
    seen = [replace(request, group=each.group, version=each.version, resource=each.plural) for each in kinds]
    if any(any_matches(constraints.exclude_resource_rules, each) for each in seen):
        return None
    rules = constraints.resource_rules
    if not rules or any_matches(rules, request):
        found: ResourceKind | None = creation.kind
    else:  # the first rule that matches a kind or an equivalent decides which of them counts
        by_rule = ((kind, rule, each) for rule in rules for kind, each in zip(kinds, seen, strict=True))
        found = next((kind for kind, rule, each in by_rule if any_matches((rule,), each)), None)
    return None if found is None or unselected(constraints, request, namespaces) else found


def _kind(kind: ResourceKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(kind: ResourceKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}
