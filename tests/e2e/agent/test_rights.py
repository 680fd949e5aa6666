"""What an agent's token may do: its own node's ConfigMap, Lease and labels of podberth.io/, and nothing else."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from controlplane.api import Api
from controlplane.wait import wait_for
from crds import FOLDER
from podberth.agent.api_requests import (
    LABEL_MANAGER,
    NFD_NODE_LABEL,
    ApiRequest,
    renew_lease,
    write_config_map,
    write_labels,
)
from podberth.agent.publish import instant
from podberth.kube.documents import load_documents
from podberth.wellknown import FREE_LINKED_LABEL, LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL, NAMESPACE, TOPOLOGY_LABEL

from .stage import PATIENCE_SECONDS, Stage, install

OWN, OTHER = "rights-own", "rights-other"
REFUSED = HTTPStatus.UNPROCESSABLE_ENTITY
LABELS = {LINK_SHAPE_LABEL: "full-mesh", LINK_DOMAIN_LABEL: "8"}


@pytest.fixture(scope="module", autouse=True)
def nodes(stage: Stage) -> Iterator[None]:
    """Add two nodes, and the rights of both ways to set labels through the API."""
    install(stage.control_plane, "components/agent-labels/own.yaml", "components/agent-nfd-labels/nfd-object.yaml")
    for name in (OWN, OTHER):
        stage.add_node(name)
    # The API server follows roles and policies, some milliseconds behind.
    asked = (f"/api/v1/nodes/{OWN}", f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{NAMESPACE}/nodefeatures/{OWN}")
    with closing(stage.api_of(stage.token(OWN))) as api:
        wait_for(
            lambda: HTTPStatus.FORBIDDEN not in [patched(api, path) for path in asked],
            timeout_seconds=PATIENCE_SECONDS,
            what="the rights to be in force",
        )
        wait_for(
            lambda: patched(api, asked[0], {"annotations": {"podberth.io/x": "1"}}) == REFUSED,
            timeout_seconds=PATIENCE_SECONDS,
            what="the policies to be in force",
        )
    yield
    for name in (OWN, OTHER):
        stage.api.request("DELETE", f"/api/v1/nodes/{name}")


def patched(api: Api, path: str, metadata: Mapping[str, Any] | None = None) -> int:
    """Return the status of a change that leaves nothing behind."""
    merge = "application/merge-patch+json"
    return api.raw("PATCH", f"{path}?dryRun=All", {"metadata": metadata or {}}, merge)[0]


@pytest.fixture(scope="module")
def nfd(stage: Stage) -> None:
    """Install NFD's own definition of a NodeFeature."""
    [crd] = [
        each.document
        for each in load_documents((FOLDER / "node-feature-discovery" / "nfd-api-crds.yaml").read_text(), "crds")[0]
        if each.document["spec"]["names"]["kind"] == "NodeFeature"
    ]
    stage.control_plane.kubectl("create", "-f", "-", input=json.dumps(crd))
    stage.control_plane.await_crds()


@pytest.fixture
def own(stage: Stage) -> Iterator[Api]:
    """Yield a way to the API server with the token of the agent on the node OWN."""
    with closing(stage.api_of(stage.token(OWN))) as api:
        yield api


def send(api: Api, request: ApiRequest) -> tuple[int, str]:
    """Send a request of the agent's; return status and message."""
    status, content = api.raw(request.method, request.path, request.body, "application/apply-patch+yaml")
    return status, str(json.loads(content).get("message", ""))


def uid(stage: Stage, node: str) -> str:
    return str(stage.node(node)["metadata"]["uid"])


def requests(stage: Stage, node: str) -> list[ApiRequest]:
    """Return all that an agent on a node may write."""
    return [
        write_config_map(node, uid(stage, node), "{}"),
        renew_lease(node, uid(stage, node), instant().wall, 360),
        write_labels("own", node, uid(stage, node), LABELS),
    ]


def apply_node(stage: Stage, name: str, **parts: Any) -> ApiRequest:
    """Return an apply of a Node with anything in it."""
    metadata = {"name": name, **parts.pop("metadata", {})}
    body = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": metadata, **parts}).encode()
    return ApiRequest("label", "PATCH", write_labels("own", name, uid(stage, name), {}).path, body)


def test_its_own_node_is_its_to_write(stage: Stage, own: Api) -> None:
    # Once to create and once to change.
    for _ in range(2):
        answers = [send(own, request) for request in requests(stage, OWN)]
        assert all(status in {HTTPStatus.OK, HTTPStatus.CREATED} for status, _ in answers), answers
    assert LABELS.items() <= stage.node(OWN)["metadata"]["labels"].items()


def test_what_it_publishes_is_never_taken_for_params(stage: Stage, own: Api) -> None:
    for request in requests(stage, OWN)[:2]:
        document = json.loads(request.body or b"")
        document["metadata"]["labels"] = {"example.com/params": "true"}
        status, message = send(own, replace(request, body=json.dumps(document).encode()))
        assert (status, f"has the label {TOPOLOGY_LABEL}" in message) == (REFUSED, True), message


def test_it_writes_no_finalizer(stage: Stage, own: Api) -> None:
    for request in requests(stage, OWN)[:2]:
        document = json.loads(request.body or b"")
        document["metadata"]["finalizers"] = ["example.com/never"]
        status, message = send(own, replace(request, body=json.dumps(document).encode()))
        assert (status, "may write no finalizers" in message) == (REFUSED, True), message


@pytest.mark.parametrize("name", ["podberth-policies", "podberth-conventions", "rights-params"])
def test_a_node_that_is_named_as_something_else_here_does_not_take_it_over(stage: Stage, name: str) -> None:
    """The policies that are mounted are not there yet; the params of a policy are."""
    stage.add_node(name)
    metadata = {"name": name, "namespace": NAMESPACE}
    if name == "rights-params":
        stage.control_plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})
    with closing(stage.api_of(stage.token(name))) as api:
        status, message = send(api, write_config_map(name, uid(stage, name), "{}"))
        assert (status, "is not what an agent has made" in message) == (REFUSED, True), message
    stage.api.request("DELETE", f"/api/v1/nodes/{name}")


def test_a_live_label_comes_and_goes_beside_the_others_on_its_own_node_alone(stage: Stage, own: Api) -> None:
    live = {**LABELS, FREE_LINKED_LABEL: "4"}
    assert send(own, write_labels("own", OWN, uid(stage, OWN), live))[0] == HTTPStatus.OK
    assert live.items() <= stage.node(OWN)["metadata"]["labels"].items()
    assert send(own, write_labels("own", OTHER, uid(stage, OTHER), live))[0] == REFUSED
    assert send(own, write_labels("own", OWN, uid(stage, OWN), LABELS))[0] == HTTPStatus.OK
    labels = stage.node(OWN)["metadata"]["labels"]
    assert (FREE_LINKED_LABEL in labels, LABELS.items() <= labels.items()) == (False, True)


def test_another_node_is_not(stage: Stage, own: Api) -> None:
    with closing(stage.api_of(stage.token(OTHER))) as other:
        for request in requests(stage, OTHER):
            # What is not there yet, and what is.
            first = send(own, request)
            send(other, request)
            for status, message in (first, send(own, request)):
                assert (status, f"on {OWN}: " in message, f"{OTHER} is not its own" in message) == (REFUSED, True, True)


def test_a_token_that_names_no_node_writes_nothing(stage: Stage) -> None:
    with closing(stage.api_of(stage.token_of_no_node())) as api:
        for request in requests(stage, OWN):
            status, message = send(api, request)
            assert (status, "the token names no node" in message) == (REFUSED, True)


@pytest.mark.parametrize(
    "parts",
    [
        {"metadata": {"labels": {"nvidia.com/gpu.product": "lie"}}},
        {"metadata": {"labels": {"podberth.io.evil.example/x": "1"}}},
        {"metadata": {"labels": {"kubernetes.io/hostname": "lie"}}},
        {"metadata": {"annotations": {"podberth.io/x": "1"}}},
        {"metadata": {"finalizers": ["podberth.io/x"]}},
        {"spec": {"taints": [{"key": "podberth.io/x", "effect": "NoExecute"}]}},
        {"spec": {"unschedulable": True}},
    ],
    ids=json.dumps,
)
def test_of_its_own_node_only_labels_of_ours_are_its_to_write(stage: Stage, own: Api, parts: dict[str, Any]) -> None:
    before = stage.node(OWN)
    status, message = send(own, apply_node(stage, OWN, **parts))
    assert (status, "of a Node" in message) == (REFUSED, True)
    after = stage.node(OWN)
    assert (after["spec"], after["metadata"]["labels"]) == (before["spec"], before["metadata"]["labels"])


def test_a_label_of_others_cannot_be_taken_away(own: Api) -> None:
    path = f"/api/v1/nodes/{OWN}"
    patch = {"metadata": {"labels": {"kubernetes.io/os": None}}}
    status, content = own.raw("PATCH", path, patch, "application/merge-patch+json")
    assert (status, b"labels it may change" in content) == (REFUSED, True)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", f"/api/v1/nodes/{OWN}"),
        ("PATCH", f"/api/v1/nodes/{OWN}/status"),
        ("GET", "/api/v1/nodes"),
        ("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps"),
        ("DELETE", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{OWN}"),
        ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets"),
        ("GET", "/api/v1/namespaces/kube-system/configmaps/x"),
        ("GET", "/api/v1/pods"),
    ],
)
def test_what_it_does_not_need_it_may_not(own: Api, method: str, path: str) -> None:
    body: dict[str, Any] | None = {"status": {}} if method == "PATCH" else None
    assert own.raw(method, path, body, "application/merge-patch+json")[0] == HTTPStatus.FORBIDDEN


@pytest.mark.shared("crds")
@pytest.mark.usefixtures("nfd")
def test_a_feature_may_name_neither_another_node_nor_another_label(stage: Stage, own: Api) -> None:
    good = write_labels("nfd-object", OWN, uid(stage, OWN), LABELS)
    assert send(own, good)[0] == HTTPStatus.CREATED
    assert send(own, write_labels("nfd-object", OTHER, uid(stage, OTHER), LABELS))[0] == REFUSED
    changes: list[dict[str, Any]] = [
        {"metadata": {"labels": {NFD_NODE_LABEL: OTHER}}},
        {"spec": {"labels": {"nvidia.com/gpu.product": "lie"}}},
        {"spec": {"features": {"flags": {"x": {"elements": {}}}}}},
    ]
    for change in changes:
        body: dict[str, Any] = json.loads(good.body or b"")
        for key, value in change.items():
            body[key] = {**body[key], **value}
        request = ApiRequest("label", "PATCH", good.path, json.dumps(body).encode())
        status, message = send(own, request)
        assert (status, "NodeFeature" in message) == (REFUSED, True), message


def test_an_agent_labels_its_node_and_gives_the_labels_back_if_they_are_taken(stage: Stage) -> None:
    flags = ("--simulate", "hgx-h100-8", "--heartbeat", "0.2", "--labels", "own")
    stage.api.request(
        "PATCH",
        f"/api/v1/nodes/{OWN}",
        {"metadata": {"labels": dict.fromkeys(LABELS), "managedFields": [{}]}},
        "application/merge-patch+json",
    )

    def labelled() -> bool:
        labels: dict[str, str] = stage.node(OWN)["metadata"]["labels"]
        return LABELS.items() <= labels.items()

    assert not labelled()
    with stage.agent(OWN, *flags):
        wait_for(labelled, timeout_seconds=PATIENCE_SECONDS, what="the labels")
        managers = {
            each["manager"]: each["fieldsV1"]
            for each in stage.node(OWN)["metadata"]["managedFields"]
            if each["operation"] == "Apply"
        }
        assert set(managers[LABEL_MANAGER]["f:metadata"]["f:labels"]) == {f"f:{key}" for key in LABELS}
        stage.api.request(
            "PATCH",
            f"/api/v1/nodes/{OWN}",
            {"metadata": {"labels": dict.fromkeys(LABELS)}},
            "application/merge-patch+json",
        )
        wait_for(labelled, timeout_seconds=PATIENCE_SECONDS, what="the labels to come back")


@pytest.mark.shared("crds")
@pytest.mark.usefixtures("nfd")
def test_an_agent_asks_nfd_for_the_labels(stage: Stage) -> None:
    path = f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{NAMESPACE}/nodefeatures/{OTHER}"
    stage.api.raw("DELETE", path)
    with stage.agent(OTHER, "--simulate", "l4-1", "--labels", "nfd-object"):
        wait_for(
            lambda: stage.api.raw("GET", path)[0] == HTTPStatus.OK, timeout_seconds=PATIENCE_SECONDS, what="the feature"
        )
    feature = stage.api.read(path)
    assert feature["spec"] == {"labels": {LINK_SHAPE_LABEL: "none", LINK_DOMAIN_LABEL: "1"}}
    assert feature["metadata"]["labels"] == {NFD_NODE_LABEL: OTHER}
    assert feature["metadata"]["ownerReferences"][0]["uid"] == uid(stage, OTHER)


def test_an_agent_writes_nfds_file(stage: Stage, tmp_path: Path) -> None:
    flags = ("--simulate", "a100-pcie-4", "--labels", "nfd-file", "--features-dir", str(tmp_path))
    file = tmp_path / "podberth"
    with stage.agent(OTHER, *flags):
        wait_for(file.exists, timeout_seconds=PATIENCE_SECONDS, what="the file")
    assert file.read_text() == f"{LINK_DOMAIN_LABEL}=2\n{LINK_SHAPE_LABEL}=islands\n"
    assert [each.name for each in tmp_path.iterdir()] == ["podberth"]
