"""The guards that the API server asks itself, proved by requests with tokens of those they are about."""

import ast
import base64
import json
import re
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from http import HTTPStatus
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.api import Answer, Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import EXEMPT_LABEL, EXEMPT_NAMESPACES, NAMESPACE

from .rendering import Document

SECONDS = 60.0
MERGE = "application/merge-patch+json"
TENANT, WRITER = "guards-tenant", "guards-writer"
NAMESPACES = "/api/v1/namespaces"
EXEMPT = {"metadata": {"labels": {EXEMPT_LABEL: "true"}}}


def grant(control_plane: ControlPlane, name: str, account: str, namespace: str, *rules: Document) -> None:
    """Give a service account these rules, everywhere."""
    api = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    control_plane.apply(
        {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)},
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        },
    )


# ---- who may exempt -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tenant(installed: ControlPlane) -> Iterator[Api]:
    """Yield the way of somebody who may do with namespaces all that RBAC has verbs for, but for `exempt`."""
    installed.add_namespace(TENANT)
    installed.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": TENANT, "namespace": TENANT}})
    resources = ["namespaces", "namespaces/status", "namespaces/finalize"]
    verbs = ["get", "create", "update", "patch", "delete"]
    grant(installed, TENANT, TENANT, TENANT, {"apiGroups": [""], "resources": resources, "verbs": verbs})
    with closing(Api(installed.url, installed.create_token(TENANT, TENANT), installed.ca_file)) as api:
        wait_for(lambda: _guarded(api), timeout_seconds=SECONDS, what="the guard to be asked")
        yield api


def _guarded(api: Api) -> bool:
    return api.ask("PATCH", f"{NAMESPACES}/{TENANT}?dryRun=All", EXEMPT, MERGE).status == HTTPStatus.FORBIDDEN


def test_a_namespace_is_not_made_exempt_by_whoever_may_only_make_namespaces(tenant: Api) -> None:
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "guards-new", **EXEMPT["metadata"]}}
    answer = tenant.ask("POST", NAMESPACES, document)
    assert answer.status == HTTPStatus.FORBIDDEN
    assert answer.document["message"].endswith(
        f"metadata.labels[podberth.io/exempt]: system:serviceaccount:{TENANT}:{TENANT} may not take namespace "
        "guards-new out of podberth; want the verb exempt on it; do: bind the ClusterRole podberth-exempt"
    )
    del document["metadata"]["labels"]  # type: ignore[attr-defined]
    assert tenant.ask("POST", f"{NAMESPACES}?dryRun=All", document).status == HTTPStatus.CREATED


@pytest.mark.parametrize("part", ["", "/status", "/finalize"])
@pytest.mark.parametrize("value", ["true", "false", ""])
def test_no_write_of_a_namespace_brings_the_label_along(tenant: Api, part: str, value: str) -> None:
    stored = tenant.read(f"{NAMESPACES}/{TENANT}")
    stored["metadata"]["labels"][EXEMPT_LABEL] = value
    answer = tenant.ask("PUT", f"{NAMESPACES}/{TENANT}{part}", stored)
    assert answer.status == HTTPStatus.FORBIDDEN, answer.document
    assert EXEMPT_LABEL not in tenant.read(f"{NAMESPACES}/{TENANT}")["metadata"]["labels"]


@pytest.mark.parametrize("name", EXEMPT_NAMESPACES)
def test_a_namespace_whose_pods_are_never_sent_is_not_made_by_whoever_may_only_make_namespaces(
    tenant: Api, name: str
) -> None:
    """Those that are there already, too: the guard is asked before it is known that they are."""
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    answer = tenant.ask("POST", f"{NAMESPACES}?dryRun=All", document)
    assert answer.status == HTTPStatus.FORBIDDEN, answer.document
    assert answer.document["message"].endswith(
        f"metadata.name: system:serviceaccount:{TENANT}:{TENANT} may not take namespace {name} out of podberth; "
        "want the verb exempt on it; do: bind the ClusterRole podberth-exempt"
    )


def test_who_has_the_verb_makes_the_namespace_of_the_gpu_operator(installed: ControlPlane, tenant: Api) -> None:
    account = {"name": "guards-installer", "namespace": TENANT}
    installed.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    makes = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]}
    exempts = {**makes, "resourceNames": ["gpu-operator"], "verbs": ["exempt"]}
    grant(installed, account["name"], account["name"], TENANT, makes, exempts)
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}}
    assert tenant.ask("POST", f"{NAMESPACES}?dryRun=All", document).status == HTTPStatus.FORBIDDEN
    token = installed.create_token(TENANT, account["name"])
    with closing(Api(installed.url, token, installed.ca_file)) as installer:
        wait_for(
            lambda: installer.ask("POST", f"{NAMESPACES}?dryRun=All", document).status == HTTPStatus.CREATED,
            timeout_seconds=SECONDS,
            what="the verb to count",
        )


def test_the_names_that_are_guarded_are_those_that_are_left_out(installed: ControlPlane) -> None:
    [condition] = installed.get("validatingadmissionpolicy", "podberth-exemption")["spec"]["matchConditions"]
    [names] = re.findall(r"\[[^]]*\]", condition["expression"])
    assert ast.literal_eval(names) == list(EXEMPT_NAMESPACES)


def test_who_has_the_verb_on_a_namespace_exempts_that_one(installed: ControlPlane, tenant: Api) -> None:
    rule = {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["guards-mine"], "verbs": ["exempt"]}
    grant(installed, "guards-mine", TENANT, TENANT, rule)
    for name in ("guards-mine", "guards-other"):
        installed.add_namespace(name)
    wait_for(
        lambda: tenant.ask("PATCH", f"{NAMESPACES}/guards-mine", EXEMPT, MERGE).status == HTTPStatus.OK,
        timeout_seconds=SECONDS,
        what="the verb to count",
    )
    assert tenant.ask("PATCH", f"{NAMESPACES}/guards-other", EXEMPT, MERGE).status == HTTPStatus.FORBIDDEN


def test_an_exempt_namespace_can_be_written_and_taken_back_by_anybody_who_may_label(
    installed: ControlPlane, tenant: Api
) -> None:
    installed.add_namespace("guards-exempt", {EXEMPT_LABEL: ""})  # by a member of system:masters, who has every verb
    path = f"{NAMESPACES}/guards-exempt"
    assert tenant.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE).status == HTTPStatus.OK
    assert tenant.ask("PATCH", path, {"metadata": {"labels": {EXEMPT_LABEL: None}}}, MERGE).status == HTTPStatus.OK
    assert tenant.ask("PATCH", path, EXEMPT, MERGE).status == HTTPStatus.FORBIDDEN


def test_the_shipped_role_is_what_is_wanted(installed: ControlPlane) -> None:
    role = installed.get("clusterrole", "podberth-exempt")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["exempt"]}]


def test_pods_of_an_exempt_namespace_are_never_sent(installed: ControlPlane) -> None:
    installed.add_namespace("guards-sent")
    installed.add_namespace("guards-unsent", {EXEMPT_LABEL: "true"})
    pod = gpu_pod()
    pod["metadata"].pop("namespace", None)

    def sent() -> str:
        answer = installed.api.ask("POST", f"{NAMESPACES}/guards-sent/pods?dryRun=All", pod)
        return str(answer.document.get("message", ""))

    # Nothing answers at the Service's address: a pod that is sent is refused, once the API server goes by what is new.
    refused = 'failed calling webhook "pods.mutate.podberth.io"'
    wait_for(lambda: refused in sent(), timeout_seconds=SECONDS, what="a pod to be sent")
    unsent = installed.api.ask("POST", f"{NAMESPACES}/guards-unsent/pods?dryRun=All", pod)
    assert unsent.status == HTTPStatus.CREATED, unsent.document


# ---- what podberth may change of its configurations -----------------------------------------------------------------

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
PLURALS = {
    "MutatingWebhook": "mutatingwebhookconfigurations",
    "ValidatingWebhook": "validatingwebhookconfigurations",
}
RULE = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "scope": "*"}
EVERYTHING: Document = {"matchExpressions": [], "matchLabels": {}}
# Of each field of a webhook, another value. A field that the API gets is missing here, and the test fails.
OTHERS: dict[str, Any] = {
    "name": "others.podberth.io",
    "rules": [RULE],
    "failurePolicy": "Ignore",
    "matchPolicy": "Exact",
    "namespaceSelector": EVERYTHING,
    "objectSelector": {"matchLabels": {"a": "b"}},
    "matchConditions": [],
    "sideEffects": "None",
    "timeoutSeconds": 30,
    "admissionReviewVersions": ["v1", "v1beta1"],
    "reinvocationPolicy": "Never",
}


@pytest.fixture(scope="module")
def writer(installed: ControlPlane) -> Iterator[Api]:
    """Yield podberth's own way, with every right on webhook configurations: more than it is ever given."""
    resources, verbs = sorted(PLURALS.values()), ["get", "create", "update", "patch", "delete"]
    rule = {"apiGroups": ["admissionregistration.k8s.io"], "resources": resources, "verbs": verbs}
    grant(installed, WRITER, "podberth", NAMESPACE, rule)
    with closing(Api(installed.url, installed.create_token(NAMESPACE, "podberth"), installed.ca_file)) as api:
        path = f"{CONFIGURATIONS}/mutatingwebhookconfigurations/podberth?dryRun=All"
        wait_for(
            lambda: "podberth may change" in api.ask("DELETE", path).document.get("message", ""),
            timeout_seconds=SECONDS,
            what="the guard to be asked",
        )
        yield api
    installed.kubectl("delete", "clusterrolebinding", WRITER)


@pytest.fixture(params=sorted(PLURALS))
def kind(request: pytest.FixtureRequest) -> str:
    """Yield the kinds of webhooks."""
    return str(request.param)


def path_of(kind: str, name: str = "podberth") -> str:
    return f"{CONFIGURATIONS}/{PLURALS[kind]}/{name}"


def test_podberth_may_change_ca_bundle(installed: ControlPlane, writer: Api, kind: str) -> None:
    bundle = base64.b64encode(installed.ca_file.read_bytes()).decode()
    stored = writer.read(path_of(kind))
    for webhook in stored["webhooks"]:
        webhook["clientConfig"]["caBundle"] = bundle
    answer = writer.ask("PUT", path_of(kind), stored)
    assert answer.status == HTTPStatus.OK, answer.document
    assert {each["clientConfig"]["caBundle"] for each in writer.read(path_of(kind))["webhooks"]} == {bundle}


def test_podberth_may_change_no_other_field_of_a_webhook(installed: ControlPlane, writer: Api, kind: str) -> None:
    schemas = installed.api.read("/openapi/v3/apis/admissionregistration.k8s.io/v1")["components"]["schemas"]
    fields = set(schemas[f"io.k8s.api.admissionregistration.v1.{kind}"]["properties"]) - {"clientConfig"}
    assert fields == OTHERS.keys() - ({"reinvocationPolicy"} if kind == "ValidatingWebhook" else set())
    for field in sorted(fields):
        stored = writer.read(path_of(kind))
        assert stored["webhooks"][0].get(field) != OTHERS[field]
        stored["webhooks"][0][field] = OTHERS[field]
        _assert_refused(writer.ask("PUT", f"{path_of(kind)}?dryRun=All", stored), field)
        allowed = installed.api.ask("PUT", f"{path_of(kind)}?dryRun=All", stored)  # it is podberth that may not
        assert allowed.status == HTTPStatus.OK, allowed.document


@pytest.mark.parametrize(
    "config",
    [
        {"url": "https://127.0.0.1:1/mutate"},
        {"service": {"namespace": "default", "name": "podberth", "path": "/mutate", "port": 443}},
        {"service": {"namespace": NAMESPACE, "name": "podberth", "path": "/other", "port": 443}},
    ],
)
def test_podberth_may_not_lead_reviews_elsewhere(writer: Api, kind: str, config: Document) -> None:
    stored = writer.read(path_of(kind))
    stored["webhooks"][0]["clientConfig"] = config
    _assert_refused(writer.ask("PUT", f"{path_of(kind)}?dryRun=All", stored), "clientConfig")


@pytest.mark.parametrize(
    "metadata",
    [{"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"finalizers": ["example.com/never"]}],
)
def test_podberth_may_not_write_metadata(writer: Api, kind: str, metadata: Document) -> None:
    _assert_refused(writer.ask("PATCH", f"{path_of(kind)}?dryRun=All", {"metadata": metadata}, MERGE), "metadata")


def test_podberth_may_neither_add_nor_drop_nor_reorder_webhooks(writer: Api, kind: str) -> None:
    stored = writer.read(path_of(kind))
    first, *rest = stored["webhooks"]
    for webhooks in ([], rest, [*rest, first], [first, *rest, {**deepcopy(first), "name": "more.podberth.io"}]):
        answer = writer.ask("PUT", f"{path_of(kind)}?dryRun=All", {**stored, "webhooks": webhooks})
        _assert_refused(answer, f"{len(webhooks)} webhooks")


def test_podberth_may_neither_make_nor_delete_nor_touch_others(installed: ControlPlane, writer: Api, kind: str) -> None:
    stored = writer.read(path_of(kind))
    document = {"apiVersion": stored["apiVersion"], "kind": stored["kind"], "metadata": {"name": "guards-else"}}
    _assert_refused(writer.ask("POST", f"{CONFIGURATIONS}/{PLURALS[kind]}?dryRun=All", document), "create")
    _assert_refused(writer.ask("DELETE", f"{path_of(kind)}?dryRun=All"), "delete")
    installed.apply({**document, "webhooks": []})
    others = writer.read(path_of(kind, "guards-else"))
    _assert_refused(writer.ask("PUT", f"{path_of(kind, 'guards-else')}?dryRun=All", others), "another one")
    installed.kubectl("delete", document["kind"], "guards-else")


def _assert_refused(answer: Any, what: str) -> None:
    assert answer.status == HTTPStatus.FORBIDDEN, (what, json.dumps(answer.document)[:500])
    assert "podberth may change webhooks[*].clientConfig.caBundle" in answer.document["message"], what


# ---- which Secret podberth may create -------------------------------------------------------------------------------

SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
OF_AN_ACCOUNT = {"kubernetes.io/service-account.name": "podberth"}


@pytest.fixture(scope="module")
def signer(installed: ControlPlane) -> Iterator[Api]:
    """Yield podberth's own way, with the rights that it is given."""
    with closing(Api(installed.url, installed.create_token(NAMESPACE, "podberth"), installed.ca_file)) as api:
        wait_for(
            lambda: _create(api, _secret({"name": "other"})).status == HTTPStatus.FORBIDDEN,
            timeout_seconds=SECONDS,
            what="the guard to be asked",
        )
        yield api


def _secret(metadata: Document, kind: str = "Opaque") -> Document:
    return {"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata}


def _create(api: Api, document: Document) -> Answer:
    return api.ask("POST", f"{SECRETS}?dryRun=All", document)


def test_podberth_creates_the_secret_of_its_authority(signer: Api) -> None:
    answer = _create(signer, _secret({"name": "podberth-ca"}))
    assert answer.status == HTTPStatus.CREATED, answer.document


@pytest.mark.parametrize(
    "document",
    [
        _secret({"name": "other"}),
        _secret({"generateName": "podberth-ca"}),
        _secret({"name": "stolen", "annotations": OF_AN_ACCOUNT}, "kubernetes.io/service-account-token"),
        _secret({"name": "podberth-ca", "annotations": OF_AN_ACCOUNT}, "kubernetes.io/service-account-token"),
    ],
)
def test_podberth_creates_no_other_secret(installed: ControlPlane, signer: Api, document: Document) -> None:
    answer = _create(signer, document)
    assert answer.status == HTTPStatus.FORBIDDEN, answer.document
    assert "podberth may create the Secret podberth-ca of the type Opaque" in answer.document["message"]
    allowed = _create(installed.api, document)  # it is podberth that may not
    assert allowed.status == HTTPStatus.CREATED, allowed.document
