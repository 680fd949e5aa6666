"""The requests for a status, compared with the rights of manifests/base/viewer.yaml; and unusual answers."""

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import pytest

from pages import ROOT
from podberth.api.protocol import AnswerLimits
from podberth.cluster.installation import StatusReader
from podberth.errors import ClusterError
from podberth.installation.observation import InstallationState, Unread
from podberth.kube.documents import load_documents
from status_scenes import NOW

if TYPE_CHECKING:
    from podberth.api.client import ClusterClient

POD = {
    "metadata": {"name": "podberth-1", "resourceVersion": "1"},
    "spec": {
        "containers": [{"ports": [{"name": "webhook", "containerPort": 1}, {"name": "metrics", "containerPort": 2}]}]
    },
    "status": {"phase": "Running", "podIP": "192.0.2.1"},
}
METRICS = "/api/v1/namespaces/podberth-system/pods/podberth-1:2/proxy/metrics"
# The paths that every authenticated user may read (the ClusterRole system:discovery).
DISCOVERY = {"/version", "/apis/podberth.io/v1alpha1"}


class Server:
    """Answers as an API server with one replica and nothing else, except for these paths; records the requests."""

    def __init__(self, answers: Mapping[str, bytes | ClusterError] | None = None) -> None:
        self.asked: list[str] = []
        self._answers: dict[str, bytes | ClusterError] = {
            "/version": b'{"gitVersion": "v1.36.3"}',
            "/api/v1/namespaces/podberth-system/pods": json.dumps(
                {"metadata": {"resourceVersion": "1"}, "items": [POD]}
            ).encode(),
            METRICS: b"podberth_policies_loaded 3.0\n",
            **(answers or {}),
        }

    async def get(self, path: str, query: dict[str, str], limits: AnswerLimits | None = None) -> bytes:
        """Answer."""
        del limits
        self.asked.append(path)
        found = self._answers.get(path)
        if isinstance(found, ClusterError):
            raise found
        if found is None and "limit" not in query:
            missing = ClusterError("refused", "no such thing")
            missing.status = HTTPStatus.NOT_FOUND
            raise missing
        return found or b'{"metadata": {"resourceVersion": "1"}, "items": []}'

    def read(self) -> InstallationState:
        """Read the status from it."""
        return asyncio.run(StatusReader(cast("ClusterClient", self)).read(NOW))


def asked_right(path: str) -> tuple[str, str, str, str, str]:
    """Return verb, group, resource, name and namespace of a GET, as RBAC sees it; empty: all of them."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    namespace, rest = (rest[1], rest[2:]) if rest[0] == "namespaces" else ("", rest)
    if "proxy" in rest:
        return "get", group, f"{rest[0]}/proxy", "", namespace
    verb, name = ("get", rest[1]) if len(rest) == 2 else ("list", "")
    return verb, group, rest[0], name, namespace


def granted() -> set[tuple[str, str, str, str, str]]:
    documents = load_documents((ROOT / "manifests" / "base" / "viewer.yaml").read_text(), "viewer.yaml")[0]
    return {
        (verb, group, resource, name, each.document["metadata"].get("namespace", ""))
        for each in documents
        for rule in each.document["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


def test_a_viewer_may_send_exactly_the_requests_of_status() -> None:
    server = Server()
    server.read()
    assert {asked_right(path) for path in server.asked if path not in DISCOVERY} == granted()
    assert set(server.asked) >= DISCOVERY
    assert len(server.asked) == len(set(server.asked))


def test_nothing_that_is_there_is_none_and_not_unread() -> None:
    found = Server().read()
    assert (found.deployment, found.agents, found.policies_served, found.policies) == (None, None, False, ())
    assert set(found.configurations.values()) | set(found.guards.values()) == {None}
    assert not isinstance(found.replicas, Unread)
    assert found.replicas[0].value("podberth_policies_loaded") == 3.0


@pytest.mark.parametrize(("body", "said"), [(b"<html>", "got no metrics"), (b"", "")])
def test_an_answer_without_metrics_is_reported_for_its_replica(body: bytes, said: str) -> None:
    replicas = Server({METRICS: body}).read().replicas
    assert not isinstance(replicas, Unread)
    [replica] = replicas
    assert (replica.metrics.why if isinstance(replica.metrics, Unread) else "").startswith(said)


def test_a_page_of_another_server_in_the_way_is_an_error_of_the_cluster() -> None:
    for body in (b"<html>please log in</html>", b"[]"):
        with pytest.raises(ClusterError, match=r"^GET /version: got "):
            Server({"/version": body}).read()


def test_a_fault_of_one_part_is_reported_with_that_part() -> None:
    broken = ClusterError("failed", "GET nodes: got 500 oh; try again")
    broken.status = HTTPStatus.INTERNAL_SERVER_ERROR
    found = Server({"/api/v1/nodes": broken}).read()
    assert found.nodes == Unread("GET nodes: got 500 oh; try again", "list nodes", refused=False)
    assert found.heartbeats == ()


def test_events_are_read_up_to_a_bound_and_that_is_said() -> None:
    page: dict[str, Any] = {"metadata": {"resourceVersion": "1", "continue": "more"}, "items": []}
    server = Server({"/api/v1/events": json.dumps(page).encode()})
    events = server.read().events
    assert not isinstance(events, Unread)
    assert events.truncated
    assert server.asked.count("/api/v1/events") == 20
