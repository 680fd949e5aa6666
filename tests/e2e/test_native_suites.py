"""The verdicts of ``podberth test`` over native policies are those of a real API server with RBAC, for each user."""

import json
from functools import partial
from http import HTTPStatus
from typing import Any

from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from differential.authorizer import Impersonating
from differential.mutating import Scene as MutatingScene
from differential.scenes import CASE, Scene, namespace_name, namespaces
from differential.upstream import COLLECTIONS, Upstream
from natives import apply_configuration, binding, mutating, policy, rule
from podberth.native.documents import others_of
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.coverage import Observer
from podberth.suite.natives import SuiteNatives
from podberth.suite.runner import CaseResult, SuiteSettings, run_suite
from snapshots import environment

Document = dict[str, Any]

_HOME = namespace_name(0)
_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_RULES = [
    {"verbs": ["create"], "apiGroups": ["", "apps"], "resources": ["pods", "deployments"]},
    {"verbs": ["release"], "apiGroups": ["apps"], "resources": ["deployments"]},
]
_USERS = {"bob": "developers", "ann": "managers"}
_CONSTRAINTS = {
    "namespaceSelector": {"matchLabels": {CASE: "0"}},
    "resourceRules": [rule(apiGroups=["", "apps"], resources=["pods", "deployments"])],
}
_FREEZE = policy(
    "variables.small || authorizer.requestResource.check('release').allowed()",
    name="suite-freeze",
    matchConstraints=_CONSTRAINTS,
    variables=[{"name": "small", "expression": "!has(object.spec.replicas) || object.spec.replicas < 3"}],
)
_LABEL = apply_configuration("Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}")
_POD = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}


def _rights() -> list[Document]:
    """Return a role for everybody, and one for those who may release."""
    found: list[Document] = []
    for name, rule_of, groups in (
        ("suite-create", _RULES[0], _USERS.values()),
        ("suite-release", _RULES[1], ["managers"]),
    ):
        shared = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": each} for each in groups]
        found += [
            {**shared, "kind": "ClusterRole", "rules": [rule_of]},
            {**shared, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects},
        ]
    return found


def _deployment(replicas: int) -> Document:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    metadata = {"name": f"web-{replicas}", "namespace": _HOME}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


_OBJECTS: tuple[Document, ...] = (
    _deployment(1),
    _deployment(5),
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": _HOME}, "spec": _POD},
)


def _cases() -> list[Document]:
    return [
        {
            "name": f"{name} {document['metadata']['name']}",
            "user": {"username": name, "groups": [group, "system:authenticated"]},
            "pod" if document["kind"] == "Pod" else "object": document,
            "expect": {"verdict": "admitted"},
        }
        for name, group in _USERS.items()
        for document in _OBJECTS
    ]


def _ours(documents: list[Document], objects: list[Document]) -> tuple[CaseResult, ...]:
    texts = [(f"{at}.yaml", json.dumps(each)) for at, each in enumerate(documents)]
    policies = parse_policies(texts, others_of(texts))
    suite, problems = parse_suite(json.dumps({"objects": objects, "cases": _cases()}), "tests.yaml")
    assert suite is not None, problems
    natives = SuiteNatives(suite, policies, environment(), Observer())
    assert not natives.judge.problems
    return run_suite(suite, policies, environment(), SuiteSettings(natives=natives)).cases


def _may_create(api: Api, user: str) -> bool:
    asking = Impersonating(api, user, (_USERS[user],))
    path = COLLECTIONS["Pod"].format(_HOME)
    return asking.ask("POST", f"{path}?dryRun=All", _OBJECTS[2]).status != HTTPStatus.FORBIDDEN


def test_a_suite_has_the_verdicts_of_the_api_server(control_plane: ControlPlane) -> None:
    api, rights, [home] = control_plane.api, _rights(), namespaces(1)
    label, bound = mutating("suite-label", _LABEL, matchConstraints=_CONSTRAINTS)
    freeze = binding(name="suite-freeze", policyName="suite-freeze")
    mine = _ours([_FREEZE, freeze, label, bound], [home, *rights])
    upstream = Upstream(api, [home], [])
    try:
        for each in rights:
            path = _ROLES if each["kind"] == "ClusterRole" else _ROLES.replace("roles", "rolebindings")
            api.request("POST", path, each)
        with upstream.mutating([MutatingScene(0, [label], [bound])]), upstream.in_force([Scene(0, _FREEZE, [freeze])]):
            for user in _USERS:
                wait_for(partial(_may_create, api, user), what=f"the rights of {user}")
            for case, result in zip(_cases(), mine, strict=True):
                _compare(api, case, result)
        assert {each.verdict for each in mine} == {"mutated", "denied"}
    finally:
        for each in rights:
            path = _ROLES if each["kind"] == "ClusterRole" else _ROLES.replace("roles", "rolebindings")
            api.raw("DELETE", f"{path}/{each['metadata']['name']}")
        upstream.remove()


def _compare(api: Api, case: Document, result: CaseResult) -> None:
    given = case.get("pod") or case["object"]
    asking = Impersonating(api, case["user"]["username"], (case["user"]["groups"][0],))
    theirs = asking.ask("POST", f"{COLLECTIONS[given['kind']].format(_HOME)}?dryRun=All", given)
    if theirs.status != HTTPStatus.CREATED:
        assert (result.verdict, theirs.document["message"].partition("forbidden: ")[2]) == ("denied", result.denial)
        return
    assert result.pod is not None, result
    assert (result.verdict, result.pod["metadata"]["labels"]) == ("mutated", theirs.document["metadata"]["labels"])
