"""The rights in files of RBAC objects, and what native policies make of them; an API server is asked in tests/e2e."""

import json
from typing import Any

import pytest

from natives import NOWHERE, binding, compiled, config_map, located, mutating, policy
from podberth.cel.libraries.authz import Question, UnknownAnswerError, User
from podberth.kube.documents import PositionedDocument, load_documents
from podberth.native.cases import NativeDecision
from podberth.native.judge import NativeJudge, Requester, Surroundings, user_info
from podberth.native.rbac import Rights, rights_of
from snapshots import environment

_ALICE = User("alice", ("system:authenticated",))
_SECRETS = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}
_ASKS = "authorizer.group('').resource('secrets').check('get').allowed()"


def _role(kind: str = "ClusterRole", *rules: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    named = {"name": "reader", **metadata}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": named, "rules": list(rules)}


def _bound(subject: str = "User alice", binding: str = "ClusterRoleBinding") -> dict[str, Any]:
    kind, name = subject.split()
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": binding,
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": kind, "name": name}],
    }


def _rights(*documents: dict[str, Any]) -> Rights:
    rights, problems = rights_of(("rights.yaml", PositionedDocument(each, NOWHERE)) for each in documents)
    assert not problems
    return rights


def _decided(rights: Rights | None, *documents: dict[str, Any]) -> list[NativeDecision]:
    requester = Requester(user=user_info("alice", ()), rights=rights)
    judge = NativeJudge(located(*documents), environment(), Surroundings(requester=requester))
    assert not judge.problems
    done = judge.mutated(config_map())
    return [*(done.decisions if done else ()), *judge.judged(config_map()).decisions]


@pytest.mark.parametrize(
    ("rights", "allowed"),
    [
        ((), False),
        ((_role("ClusterRole", _SECRETS), _bound()), True),
        ((_role("ClusterRole", _SECRETS), _bound(binding="RoleBinding")), False),
        ((_role("ClusterRole", _SECRETS), _bound("User bob")), False),
    ],
)
def test_a_policy_asks_the_rights_of_the_file(rights: tuple[dict[str, Any], ...], allowed: bool) -> None:
    denied = _decided(_rights(*rights), policy(_ASKS), binding())
    assert [each.action for each in denied] == ([] if allowed else ["deny"])


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
@pytest.mark.parametrize(
    "documents",
    [
        (policy(_ASKS), binding()),
        (policy("false", matchConditions=[{"name": "c", "expression": _ASKS}]), binding()),
    ],
)
def test_without_rights_nothing_that_asks_is_judged(documents: tuple[Any, Any], failure_policy: str) -> None:
    documents[0]["spec"]["failurePolicy"] = failure_policy
    [unjudged] = _decided(None, *documents)
    assert unjudged.action == "unjudged"
    assert "give --authorizer FILE" in unjudged.text


def test_a_mutation_without_rights_is_not_judged() -> None:
    asks = {"expression": f"{_ASKS} ? Object{{}} : Object{{data: {{'a': 'b'}}}}"}
    made = mutating("p", {"patchType": "ApplyConfiguration", "applyConfiguration": asks}, failurePolicy="Ignore")
    [unjudged] = _decided(None, *made)
    assert unjudged.action == "unjudged"


def test_an_answer_that_does_not_matter_is_not_needed() -> None:
    assert not _decided(None, policy(f"object.kind == 'ConfigMap' || {_ASKS}"), binding())


def test_a_role_that_is_not_given_leaves_the_answer_open() -> None:
    question = Question(user=_ALICE, verb="get", resource="secrets")
    with pytest.raises(UnknownAnswerError, match="ClusterRoleBinding readers names ClusterRole reader, which is not"):
        _rights(_bound()).answer(question)
    assert not _rights(_bound("Group others")).answer(question).allowed
    [unjudged] = _decided(_rights(_bound()), policy(_ASKS), binding())
    assert "add it to the file of --authorizer" in unjudged.text


def test_an_aggregated_role_of_files_has_the_rules_of_the_selected_ones() -> None:
    whole = {**_role(), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    part = _role("ClusterRole", _SECRETS, name="part", labels={"a": "b"})
    question = Question(user=_ALICE, verb="get", resource="secrets")
    assert _rights(whole, part, _bound()).answer(question).allowed
    # Those of a cluster's object are its own
    whole["metadata"]["uid"] = "1"
    assert not _rights(whole, part, _bound()).answer(question).allowed


def test_a_list_of_kubectl_is_read_and_a_slip_has_its_place() -> None:
    wrong = _role("ClusterRole", {**_SECRETS, "resource": ["pods"]})
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [_bound(), wrong]}, indent=1)
    documents, _ = load_documents(text, "rights.json")
    _, [problem] = rights_of([("rights.json", each) for each in documents])
    assert problem.where == "items[1].rules[0].resource"
    assert text.splitlines()[problem.line - 1].strip() == '"resource": ['


def test_messages_and_annotations_have_no_authorizer() -> None:
    rights = _rights(_role("ClusterRole", _SECRETS), _bound())
    message = {"expression": "!variables.may", "message": "plain", "messageExpression": "string(variables.may)"}
    made = policy(variables=[{"name": "may", "expression": _ASKS}], validations=[message])
    assert [each.message for each in _decided(rights, made, binding())] == ["plain"]
    said: dict[str, Any] = {"auditAnnotations": [{"key": "k", "valueExpression": f"string({_ASKS})"}]}
    [denial] = _decided(rights, policy("true", **said), binding())
    assert denial.message.endswith("resulted in error: no such attribute(s): authorizer")
    refused = policy(validations=[{"expression": "true", "messageExpression": f"string({_ASKS})"}])
    assert "authorizer is not available here" in compiled(refused, binding()).problems[0].message


def test_a_service_account_has_its_groups() -> None:
    assert user_info("system:serviceaccount:a:b", ())["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:a",
        "system:authenticated",
    ]
    assert user_info("alice", ["x"])["groups"] == ["x", "system:authenticated"]
