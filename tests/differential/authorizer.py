"""Questions to ``authorizer``, put to an API server with RBAC and to podberth with what that API server has of it.

Each question is one mutation of a MutatingAdmissionPolicy, which writes the answer as an annotation. Several users ask.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import yaml

from controlplane.api import Api
from controlplane.wait import wait_for
from podberth.kube.documents import PositionedDocument
from podberth.kube.positions import Chunk, Place, Position, Positions
from podberth.native.judge import user_info
from podberth.native.rbac import Rights, rights_of

from . import mutating
from .scenes import CASE, VERSION, Document, namespace_name, namespaces
from .upstream import Upstream

_GROUP: Final = "/apis/rbac.authorization.k8s.io/v1"
_COLLECTIONS: Final = {
    "ClusterRole": f"{_GROUP}/clusterroles",
    "ClusterRoleBinding": f"{_GROUP}/clusterrolebindings",
    "Role": f"{_GROUP}/namespaces/{{}}/roles",
    "RoleBinding": f"{_GROUP}/namespaces/{{}}/rolebindings",
}
_NOWHERE: Final = Positions(lambda: Place(position=Position(0, 0), chunk=Chunk("", 0), index=0))
_HOME: Final = namespace_name(0)
_OTHER: Final = namespace_name(1)
_RIGHTS: Final = f"""
kind: ClusterRole
metadata: {{name: differential-create}}
rules: [{{verbs: [create], apiGroups: [""], resources: [configmaps]}}]
---
kind: ClusterRoleBinding
metadata: {{name: differential-create}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: differential-create}}
subjects:
- {{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}}
- {{apiGroup: rbac.authorization.k8s.io, kind: Group, name: builders}}
- {{kind: ServiceAccount, name: robot, namespace: {_HOME}}}
---
kind: ClusterRole
metadata: {{name: differential-part, labels: {{differential: part}}}}
rules:
- {{verbs: [get, list], apiGroups: [apps, batch], resources: [deployments, "*/scale", jobs/status]}}
- {{verbs: ["*"], apiGroups: [example.com], resources: ["*"]}}
---
kind: ClusterRole
metadata: {{name: differential-whole}}
aggregationRule: {{clusterRoleSelectors: [{{matchLabels: {{differential: part}}}}]}}
rules: []
---
kind: ClusterRoleBinding
metadata: {{name: differential-whole}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: differential-whole}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}}]
---
kind: ClusterRole
metadata: {{name: differential-paths}}
rules: [{{verbs: [get], nonResourceURLs: [/reports, "/metrics/*"]}}]
---
kind: ClusterRoleBinding
metadata: {{name: differential-paths}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: differential-paths}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:{_HOME}"}}]
---
kind: Role
metadata: {{name: differential-secrets, namespace: {_HOME}}}
rules:
- {{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [one]}}
- {{verbs: [use], apiGroups: [policy], resources: [podsecuritypolicies]}}
---
kind: RoleBinding
metadata: {{name: differential-secrets, namespace: {_HOME}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: differential-secrets}}
subjects:
- {{kind: ServiceAccount, name: robot}}
- {{apiGroup: rbac.authorization.k8s.io, kind: Group, name: builders}}
---
kind: RoleBinding
metadata: {{name: differential-view, namespace: {_HOME}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}}]
"""
USERS: Final[Mapping[str, tuple[str, ...]]] = {
    "alice": (),
    "bob": ("builders",),
    f"system:serviceaccount:{_HOME}:robot": (),
    "root": ("system:masters",),
}
"""The users who ask, with their groups."""
_CHECKS: Final = (
    "authorizer.requestResource.check('create')",
    "authorizer.requestResource.check('delete')",
    "authorizer.requestResource.subresource('status').check('update')",
    "authorizer.requestResource.namespace('').check('create')",
    "authorizer.group('').resource('configmaps').check('create')",
    f"authorizer.group('').resource('configmaps').namespace('{_OTHER}').name('x').check('create')",
    "authorizer.group('').resource('pods').check('list')",
    f"authorizer.group('').resource('pods').namespace('{_HOME}').check('list')",
    f"authorizer.group('').resource('pods').namespace('{_HOME}').fieldSelector('spec.nodeName=a').check('list')",
    f"authorizer.group('').resource('pods').namespace('{_HOME}').labelSelector('a in (b').check('list')",
    "authorizer.group('apps').resource('deployments').check('get')",
    "authorizer.group('apps').resource('deployments').check('update')",
    "authorizer.group('apps').resource('deployments').subresource('scale').check('get')",
    "authorizer.group('apps').resource('statefulsets').subresource('scale').namespace('x').check('list')",
    "authorizer.group('batch').resource('jobs').check('get')",
    "authorizer.group('batch').resource('jobs').subresource('status').check('get')",
    "authorizer.group('example.com').resource('things').subresource('parts').name('a').check('anything')",
    f"authorizer.group('').resource('secrets').namespace('{_HOME}').name('one').check('get')",
    f"authorizer.group('').resource('secrets').namespace('{_HOME}').name('two').check('get')",
    f"authorizer.group('').resource('secrets').namespace('{_HOME}').check('get')",
    f"authorizer.group('policy').resource('podsecuritypolicies').namespace('{_HOME}').check('use')",
    "authorizer.path('/reports').check('get')",
    "authorizer.path('/metrics/cpu').check('get')",
    "authorizer.path('/metrics').check('get')",
    "authorizer.path('/healthz').check('get')",
    "authorizer.path('/healthz').check('post')",
    f"authorizer.serviceAccount('{_HOME}', 'robot').path('/reports').check('get')",
    f"authorizer.serviceAccount('{_HOME}', 'robot').group('').resource('configmaps').check('create')",
    f"authorizer.serviceAccount('{_OTHER}', 'robot').group('').resource('configmaps').check('create')",
    "authorizer.serviceAccount('default', 'default').path('/version').check('get')",
    "authorizer.serviceAccount('no good', 'default').path('/version').check('get')",
    "authorizer.serviceAccount('default', 'No').path('/version').check('get')",
    "authorizer.path(' ').check('get')",
    "authorizer.group('').resource('').check('get')",
    "authorizer.group('').resource(object.metadata.name).check('get')",
)
# Two bindings allow /healthz, and the API server gives the reason of either
QUESTIONS: Final = (
    *(f"string({each}.{asks}())" for each in _CHECKS for asks in ("allowed", "errored")),
    *(f"{each}.{asks}()" for each in _CHECKS for asks in ("reason", "error") if "healthz" not in each),
    "string(authorizer == authorizer)",
    "string(authorizer.requestResource != authorizer.requestResource)",
    "string([authorizer.path('/reports').check('get')].exists(d, d.allowed()))",
    "string(type(authorizer) == type(authorizer.requestResource))",
    "string(false && authorizer.path('').check('get').allowed())",
    "string(variables.may)",
    "string(variables.asked.check('list').allowed())",
)
"""Expressions of texts, of which some have an error."""


class Impersonating(Api):
    """The API server, asked by another user."""

    def __init__(self, api: Api, name: str, groups: tuple[str, ...]) -> None:
        """Ask as this user, with the connection and the rights of ``api``."""
        self.__dict__.update(api.__dict__)
        self._user = {"Impersonate-User": name}
        self._user |= {"Impersonate-Group": groups[0]} if groups else {}

    def _headers(self, content_type: str) -> dict[str, str]:
        return {**super()._headers(content_type), **self._user}


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers to one question of one user; None: an error, or a policy that is refused."""

    user: str
    question: str
    ours: str | None
    theirs: str | None


def compare(api: Api) -> list[Answered]:
    """Return the answers to each question of each user."""
    upstream = Upstream(api, namespaces(2), [])
    documents = list(yaml.safe_load_all(_RIGHTS))
    try:
        for each in documents:
            made = {"apiVersion": "rbac.authorization.k8s.io/v1", **each}
            api.request("POST", _COLLECTIONS[each["kind"]].format(_HOME), made)
        path = f"{_COLLECTIONS['ClusterRole']}/differential-whole"
        wait_for(partial(_has_rules, api, path), what="the aggregated role")
        return list(_asked(upstream, api))
    finally:
        for each in documents:
            api.raw("DELETE", f"{_COLLECTIONS[each['kind']].format(_HOME)}/{each['metadata']['name']}")
        upstream.remove()


def rights_in(api: Api) -> Rights:
    """Return the rights of an API server, as ``kubectl get`` prints them."""
    lists = [api.read(f"{_GROUP}/{each}") for each in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")]
    rights, problems = rights_of(("rights", PositionedDocument(each, _NOWHERE)) for each in lists)
    assert not problems, problems
    return rights


def _has_rules(api: Api, path: str) -> bool:
    return bool(api.read(path).get("rules"))


def _asked(upstream: Upstream, api: Api) -> Iterator[Answered]:
    scene = mutating.Scene(0, [policy()], [_binding()])
    given: Document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "asked", "namespace": _HOME}}
    with upstream.mutating([scene]) as refused:
        assert not refused, refused
        theirs = {user: _theirs(Impersonating(api, user, groups), given) for user, groups in USERS.items()}
    ours = mutating.Ours(upstream, rights=rights_in(api))
    made = ours.made_for(scene, [(given, user_info(user, groups)) for user, groups in USERS.items()])
    for user, mine in zip(USERS, made, strict=True):
        assert mine.object is not None, mine
        written = mine.object["metadata"].get("annotations", {})
        for number, question in enumerate(QUESTIONS):
            yield Answered(user, question, written.get(f"a{number}"), theirs[user].get(f"a{number}"))


def _theirs(asking: Api, given: Document) -> Mapping[str, str]:
    """Return the annotations that the API server writes on an object of a user."""
    answer = asking.ask("POST", f"/api/v1/namespaces/{_HOME}/configmaps?dryRun=All", given)
    assert answer.status == 201, answer.document
    annotations: Mapping[str, str] = answer.document["metadata"].get("annotations", {})
    return annotations


def policy() -> Document:
    """Return the policy that writes the answer to each question."""
    return {
        "apiVersion": VERSION,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "differential-authorizer"},
        "spec": {
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "Never",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {CASE: "0"}},
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ],
            },
            "matchConditions": [{"name": "may", "expression": "authorizer.requestResource.check('create').allowed()"}],
            "variables": [
                {"name": "may", "expression": "authorizer.path('/reports').check('get').allowed()"},
                {"name": "asked", "expression": "authorizer.group('').resource('pods').namespace('x')"},
            ],
            "mutations": [_writes(number, each) for number, each in enumerate(QUESTIONS)],
        },
    }


def _writes(number: int, question: str) -> Document:
    value = f"Object{{metadata: Object.metadata{{annotations: {{'a{number}': '<' + ({question}) + '>'}}}}}}"
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": value}}


def _binding() -> dict[str, Any]:
    name = "differential-authorizer"
    kind = "MutatingAdmissionPolicyBinding"
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": {"policyName": name}}
