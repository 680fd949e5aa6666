"""The requests for an answer: how many there are, that the page grants them all, and unusual answers."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import pytest

from builders import gpu_container, gpu_pod, owned, pod
from pages import page
from podberth.api.protocol import AnswerLimits
from podberth.api.reflector import PAGE
from podberth.cluster.why import WhyReader
from podberth.errors import ClusterError
from podberth.kube.documents import load_documents
from podberth.kube.unchecked import list_at
from podberth.wellknown import APPLIED_ANNOTATION
from podberth.why.causes import answer
from podberth.why.picture import Picture
from protobuf_answers import sent
from why_pictures import NO_NODE, NOW, Document, node, placed, waiting

if TYPE_CHECKING:
    from podberth.api.client import ClusterClient

[RIGHTS] = re.findall(r"^```yaml\n(apiVersion: rbac.*?)^```$", page("docs/why.md"), re.MULTILINE | re.DOTALL)
GROUPS = {
    "groups": [
        {"name": name, "versions": [{"version": each} for each in versions]}
        for name, versions in {
            "resource.k8s.io": ["v1"],
            "scheduling.k8s.io": ["v1", "v1alpha2"],
            "storage.k8s.io": ["v1"],
            "kueue.x-k8s.io": ["v1beta2"],
            "coordination.k8s.io": ["v1"],
        }.items()
    ]
}
_PIECE = 1000
OWN = "/api/v1/namespaces/default/pods"


class Server:
    """Answers as an API server with these objects and lists by path; anything else is not found, or empty."""

    def __init__(
        self,
        answers: Mapping[str, Document],
        forbidden: frozenset[str] = frozenset(),
        status: int = HTTPStatus.FORBIDDEN,
        *,
        sends_protobuf: bool = True,
    ) -> None:
        self.asked: list[str] = []
        self._sends_protobuf = sends_protobuf
        self._status = status
        self._answers = {"/apis": GROUPS, **answers}
        self._forbidden = forbidden

    async def get(self, path: str, query: dict[str, str], limits: AnswerLimits | None = None) -> bytes:
        """Answer."""
        del limits
        selectors = [each for key, each in query.items() if key.endswith("Selector")]
        self.asked.append("?".join([path, *selectors]))
        if path in self._forbidden:
            raise _refusal(self._status)
        if path not in self._answers:
            raise _refusal(HTTPStatus.NOT_FOUND)
        found = self._answers[path]
        if on := re.match("spec.nodeName=([^,]+)", query.get("fieldSelector", "")):
            found = {"items": [each for each in found["items"] if each["spec"].get("nodeName") == on[1]]}
        if "limit" in query:
            found = _page(found["items"], int(query.get("continue", "0")), int(query["limit"]))
        return json.dumps(found).encode()

    @asynccontextmanager
    async def stream(self, path: str, query: dict[str, str], _: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Answer in protobuf, in pieces."""
        body = await self.get(path, query)
        whole = sent("PodList", json.loads(body)) if self._sends_protobuf else body

        async def pieces() -> AsyncIterator[bytes]:
            for begin in range(0, len(whole), _PIECE):
                yield whole[begin : begin + _PIECE]

        yield pieces()

    def read(self, name: str) -> Picture:
        """Read the picture from it."""
        return asyncio.run(WhyReader(cast("ClusterClient", self)).read(name, "default", NOW))


def as_listed(thing: Document) -> Document:
    """Return an object as a list has it."""
    return {**thing, "metadata": {"resourceVersion": "1", **thing["metadata"]}}


def _page(objects: list[Document], begin: int, limit: int) -> Document:
    end = begin + limit
    metadata = {"resourceVersion": "1", "continue": str(end) if end < len(objects) else ""}
    return {"metadata": metadata, "items": [as_listed(each) for each in objects[begin:end]]}


def _refusal(status: int) -> ClusterError:
    error = ClusterError("refused", "no")
    error.status = status
    return error


def cluster(asked: Document, *others: Document, **answers: Any) -> dict[str, Document]:
    """Return the answers of a cluster with one node, and with this pod and others."""
    return {
        "/api/v1/nodes": {"items": [node("a")]},
        "/api/v1/pods": {"items": [asked, *others]},
        OWN: {"items": [asked, *others]},
        f"{OWN}/{asked['metadata']['name']}": asked,
        **answers,
    }


def test_an_answer_takes_five_requests_and_those_for_what_the_pod_names() -> None:
    server = Server(cluster(waiting(gpu_pod(16), f"{NO_NODE}1 Insufficient nvidia.com/gpu.")))
    assert answer(server.read("pod")).diagnosis.cause == "size"
    living = "status.phase!=Succeeded,status.phase!=Failed"
    assert sorted(server.asked) == [
        "/api/v1/namespaces/default/events?involvedObject.kind=Pod,involvedObject.name=pod",
        "/api/v1/namespaces/default/pods/pod",
        "/api/v1/nodes",
        f"/api/v1/pods?spec.nodeName=a,{living}",
        "/apis",
    ]


def test_the_pods_of_many_nodes_are_one_list_and_only_where_they_can_be_the_cause() -> None:
    nodes = {"/api/v1/nodes": {"items": [node(f"n{number}") for number in range(100)]}}
    short = f"{NO_NODE}1 Insufficient nvidia.com/gpu."
    lists = []
    for gpus in (1, 16):
        server = Server({**cluster(waiting(gpu_pod(gpus), short)), **nodes})
        server.read("pod")
        lists.append([each for each in server.asked if each.startswith("/api/v1/pods")])
    tainted = [
        {**each, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}} for each in nodes["/api/v1/nodes"]["items"]
    ]
    server = Server({**cluster(waiting(gpu_pod(1), short)), "/api/v1/nodes": {"items": tainted}})
    server.read("pod")
    lists.append([each for each in server.asked if each.startswith("/api/v1/pods")])
    assert lists == [["/api/v1/pods?status.phase!=Succeeded,status.phase!=Failed"], [], lists[0]]


@pytest.mark.parametrize("sends_protobuf", [True, False])
def test_pods_are_read_without_what_no_cause_reads_and_are_not_written_as_text(*, sends_protobuf: bool) -> None:
    spec = gpu_container("main", 1, env=[{"name": "A", "value": "b"}])
    others = [pod(spec, name=f"p{number}", nodeName="a") for number in range(PAGE + 1)]
    others[0]["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    short = f"{NO_NODE}1 Insufficient nvidia.com/gpu."
    server = Server(cluster(waiting(gpu_pod(1), short), *others), sends_protobuf=sends_protobuf)
    picture = server.read("pod")
    assert sum("spec.nodeName=a" in each for each in server.asked) == (1 if sends_protobuf else 3)
    read = [each for found in picture.read.values() for each in list_at(found, "items")]
    assert {each["metadata"]["name"] for each in read} >= {each["metadata"]["name"] for each in others}
    assert not [each for each in read if "managedFields" in each["metadata"] or "env" in each["spec"]["containers"][0]]
    # asyncio.run writes its task as text, and the task's result in it.
    assert len(repr(picture)) < 200


def test_a_pod_that_names_too_much_does_not_make_too_many_requests() -> None:
    volumes = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(500)]
    server = Server(cluster(waiting(gpu_pod(1, volumes=volumes))))
    server.read("pod")
    assert len(server.asked) <= 4 + 64


def test_a_kind_is_read_in_the_version_that_serves_it() -> None:
    group = {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}
    path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups/few"
    server = Server(cluster(waiting(gpu_pod(1, schedulingGroup={"podGroupName": "few"})), **{path: group}))
    assert answer(server.read("pod")).diagnosis.title == "PodGroup few starts 3 pods together, and has 1"


def test_a_workload_is_found_through_its_replica_set() -> None:
    replica_set = {
        "metadata": {
            "name": "serve-1",
            "uid": "u1",
            "ownerReferences": [{"kind": "Deployment", "name": "serve", "uid": "u0", "controller": True}],
        }
    }
    pods = owned(waiting(gpu_pod(16, name="serve-1-a"), "no"), "ReplicaSet", name="serve-1", uid="u1")
    sets = {"/apis/apps/v1/namespaces/default/replicasets": {"items": [replica_set]}}
    for name in ("deploy/serve", "serve", "rs/serve-1"):
        found = answer(Server(cluster(pods, **sets)).read(name))
        assert found.subject == "Pod default/serve-1-a"
        assert found.among.endswith("has 1 pod: 1 waiting for a node")


def test_a_pod_of_an_unknown_kind_of_workload_is_found_by_its_owner() -> None:
    own = owned(waiting(pod(name="train-0"), "no"), "PyTorchJob", api_version="kubeflow.org/v1", name="train")
    assert Server(cluster(own)).read("pytorchjobs/train").pod == as_listed(own)
    with pytest.raises(ClusterError, match="there is no such object with pods"):
        Server(cluster(own)).read("tfjob/train")


def test_what_is_forbidden_is_said_and_the_pod_itself_is_needed() -> None:
    asked = waiting(gpu_pod(1), f"{NO_NODE}1 Insufficient nvidia.com/gpu.")
    for path, want in (("/api/v1/nodes", "list nodes"), ("/api/v1/pods", "list pods")):
        found = answer(Server(cluster(asked), frozenset({path})).read("pod"))
        assert [each.want for each in found.unread] == [want]
        assert found.diagnosis.cause == "scheduler's word"
    with pytest.raises(ClusterError, match="want the right to get pods in default"):
        Server(cluster(asked), frozenset({f"{OWN}/pod"})).read("pod")


def test_a_list_that_the_api_server_has_no_time_for_does_not_end_the_answer() -> None:
    asked = waiting(gpu_pod(1), f"{NO_NODE}1 Insufficient nvidia.com/gpu.")
    busy = Server(cluster(asked), frozenset({"/api/v1/nodes"}), HTTPStatus.TOO_MANY_REQUESTS)
    assert [each.why for each in busy.read("pod").unread] == ["no"]
    with pytest.raises(ClusterError):
        Server(cluster(asked), frozenset({"/api/v1/nodes"}), HTTPStatus.UNAUTHORIZED).read("pod")


def _with_claims(*names: str, **fields: Any) -> Document:
    volumes = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": each}} for n, each in enumerate(names)]
    return waiting(gpu_pod(4, volumes=volumes, **fields), f"{NO_NODE}1 Insufficient nvidia.com/gpu.")


@pytest.mark.parametrize("name", ["a/b", "..", "a%2fb"])
def test_an_object_of_an_impossible_name_does_not_exist(name: str) -> None:
    asked = waiting(_with_claims(name), f'{NO_NODE}persistentvolumeclaim "{name}" not found.')
    found = answer(Server(cluster(asked)).read("pod"))
    assert (found.diagnosis.title, found.unread) == (f"PersistentVolumeClaim {name} does not exist", ())


def test_a_scheduler_of_an_impossible_name_is_asked_for_by_no_selector() -> None:
    server = Server(cluster(waiting(pod(schedulerName="a,b"))))
    assert answer(server.read("pod")).diagnosis.title == "scheduler a,b has not looked at it for 12 min"
    assert not any("schedulerName" in each for each in server.asked)


@pytest.mark.parametrize("status", [400, 500, 504])
@pytest.mark.parametrize(
    "path", ["/api/v1/pods", "/api/v1/nodes", "/apis", "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"]
)
def test_an_error_of_one_request_does_not_end_the_answer(path: str, status: int) -> None:
    asked = waiting(gpu_pod(1, labels={"kueue.x-k8s.io/queue-name": "team"}), f"{NO_NODE}1 Insufficient cpu.")
    found = answer(Server(cluster(asked), frozenset({path}), status).read("pod"))
    assert found.diagnosis.cause == "scheduler's word"
    assert found.unread


def test_a_connection_that_breaks_ends_only_a_further_read() -> None:
    asked = waiting(gpu_pod(1), f"{NO_NODE}1 Insufficient nvidia.com/gpu.")
    picture = Server(cluster(asked), frozenset({"/api/v1/pods"}), 0).read("pod")
    assert [(each.want, each.why) for each in picture.unread] == [("list pods", "no")]
    with pytest.raises(ClusterError):
        Server(cluster(asked), frozenset({"/api/v1/nodes"}), 0).read("pod")


@pytest.mark.parametrize("status", [HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE])
def test_without_the_api_groups_nothing_of_a_group_is_said_to_be_missing(status: int) -> None:
    claim = {f"{OWN.removesuffix('pods')}persistentvolumeclaims/c": {"spec": {"storageClassName": "fast"}}}
    asked = waiting(_with_claims("c"), f"{NO_NODE}pod has unbound immediate PersistentVolumeClaims.")
    found = answer(Server(cluster(asked, **claim), frozenset({"/apis"}), status).read("pod"))
    assert found.diagnosis.cause == "scheduler's word"
    assert [each.want for each in found.unread] == ["get storageclasses.storage.k8s.io"]
    assert found.unread[0].why.startswith("get /apis: ")


def test_what_is_beyond_the_limit_is_said_and_the_pods_are_read_all_the_same() -> None:
    path = OWN.removesuffix("pods") + "persistentvolumeclaims/"
    claims = {f"{path}c{n}": {"spec": {"volumeName": f"p{n}"}, "status": {"phase": "Bound"}} for n in range(40)}
    volumes: dict[str, Document] = {f"/api/v1/persistentvolumes/p{n}": {"spec": {}} for n in range(40)}
    asked = _with_claims(*(f"c{n}" for n in range(40)))
    server = Server(cluster(asked, placed(gpu_pod(8, name="h"), "a"), **claims, **volumes))
    found = answer(server.read("pod"))
    assert found.diagnosis.cause == "busy"
    assert [each.want for each in found.unread] == ["get persistentvolumes"]
    assert len(server.asked) == 5 + 64


def test_a_rule_about_other_pods_is_not_next_while_some_pods_are_not_read() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    beside = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    asked = waiting(_with_claims("gone", affinity=beside), f'{NO_NODE}persistentvolumeclaim "gone" not found.')
    nodes = [node("a", labels={"zone": "z"}), node("c", gpus=0, labels={"zone": "z"})]
    there = placed(pod(name="db", labels={"app": "db"}), "c")
    fields = "?spec.nodeName=a,status.phase!=Succeeded,status.phase!=Failed"
    server = Server({**cluster(asked, there), "/api/v1/nodes": {"items": nodes}})
    found = answer(server.read("pod"))
    assert f"/api/v1/pods{fields}" in server.asked
    assert (found.diagnosis.cause, found.then) == ("volume", ())


def test_the_leases_of_agents_are_one_list_by_their_label() -> None:
    record = {APPLIED_ANNOTATION: json.dumps({"near": {"nodeSelector": {"pool": "moon"}}})}
    asked = gpu_pod(1, nodeSelector={"pool": "moon"}, annotations=record)
    server = Server(cluster(waiting(asked, f"{NO_NODE}1 node(s) didn't match Pod's node affinity/selector.")))
    assert answer(server.read("pod")).diagnosis.cause == "selector"
    leases = [each for each in server.asked if "leases" in each]
    assert leases == ["/apis/coordination.k8s.io/v1/namespaces/podberth-system/leases?podberth.io/topology"]


def test_a_pod_that_is_being_deleted_is_not_the_one_of_its_workload() -> None:
    old, new = (owned(waiting(pod(name=each), "x"), "Job", name="train") for each in ("old", "new"))
    old["metadata"] |= {"deletionTimestamp": "2026-01-31T11:59:00Z", "creationTimestamp": "2026-01-31T10:00:00Z"}
    assert Server(cluster(old, new)).read("train").pod == as_listed(new)


def test_no_pod_of_that_name_is_an_error() -> None:
    with pytest.raises(ClusterError, match="pod default/gone: does not exist"):
        Server(cluster(gpu_pod(1))).read("pod/gone")


def test_the_page_grants_gets_and_lists_alone_and_no_secret() -> None:
    rules = [rule for each in load_documents(RIGHTS, "docs/why.md")[0] for rule in each.document["rules"]]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    assert "secrets" not in {resource for rule in rules for resource in rule["resources"]}
