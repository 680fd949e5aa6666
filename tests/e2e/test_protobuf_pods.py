"""A list of pods that the API server sends as protobuf is its JSON, as far as podberth declares the fields."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from builders import container, gpu_container, pod, sidecar
from controlplane.cluster import ControlPlane
from podberth.api import pod_stream
from podberth.api.opening import Client, Kubeconfig, connected
from podberth.api.pod_stream import streamed_pods
from podberth.api.protocol import Resource, Timing
from podberth.api.reflector import pages
from podberth.errors import ClusterError
from podberth.kube.api_path import collection_path
from podberth.kube.protobuf_pods import TABLE

Document = dict[str, Any]

SPACE = "protobuf-pods"
SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "b", "operator": "In", "values": ["c", "d"]}]}
TERM = {
    "labelSelector": SELECTOR,
    "namespaces": ["x", "y"],
    "topologyKey": "rack",
    "namespaceSelector": {"matchLabels": {"team": "t"}},
}
FULL = pod(
    gpu_container("main", 2, ports=[{"containerPort": 80, "hostPort": 81, "protocol": "UDP", "hostIP": "10.0.0.1"}]),
    container("more", requests={"cpu": "1500m", "memory": "1Gi"}, ports=[{"containerPort": 90}]),
    name="full",
    init=[sidecar(limits={"memory": "64Mi"}), container("first")],
    labels={"app": "a", "rack": "r"},
    annotations={"example.com/note": "Gr\u00fc\u00dfe", "example.com/empty": ""},
    nodeName="somewhere",
    runtimeClassName=SPACE,
    priorityClassName=SPACE,
    resources={"requests": {"cpu": "4"}, "limits": {"memory": "4Gi"}},
    affinity={
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [TERM, {"topologyKey": "zone", "namespaceSelector": {}}]
        }
    },
)
STATUS = {
    "startTime": "2026-01-02T03:04:05Z",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}],
}
OWN = Resource("pods", collection_path("v1", "pods", SPACE), of_all_namespaces=True)
pytestmark = pytest.mark.since(36)


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> ControlPlane:
    control_plane.add_namespace(SPACE)
    named = {"metadata": {"name": SPACE}}
    control_plane.apply(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            **named,
            "handler": "h",
            "overhead": {"podFixed": {"cpu": "100m"}},
        },
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **named, "value": 7},
    )
    path = f"/api/v1/namespaces/{SPACE}/pods"
    for made in (FULL, pod(name="small", nodeName="somewhere"), pod(name="w", schedulingGroup={"podGroupName": "g"})):
        made["metadata"]["namespace"] = SPACE
        control_plane.api.request("POST", path, made)
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    control_plane.api.request("PATCH", f"{path}/w", held, "application/merge-patch+json")
    control_plane.api.request("DELETE", f"{path}/w")
    control_plane.api.request("PATCH", f"{path}/full/status", {"status": STATUS}, "application/merge-patch+json")
    return control_plane


async def _with(plane: ControlPlane, ask: Any) -> Any:
    kubeconfig = Kubeconfig((Path(plane.kubeconfig),))
    async with connected("test", kubeconfig, Timing()) as client:
        return await ask(client)


async def _plain(client: Client) -> list[Document]:
    return [put.document async for page in pages(client, OWN) for put in page.items]


FIELDS = {
    kind: {name: of for *_, of, name, _, _ in map(str.split, fields.split("; "))}
    for kind, fields in TABLE.items()
    if kind not in {"Texts", "Amounts", "Time", "Quantity"}  # of a form of their own in JSON
}
BESIDES = {"Unknown", "TypeMeta", "PodList", "ListMeta", "Status", "StatusDetails", "StatusCause"}
"""The messages that are not in a pod."""


def declared(value: Any, kind: str) -> Any:
    """Return a value of JSON without the fields that the table does not declare, and without what is empty."""
    if isinstance(value, list):
        return [declared(each, kind) for each in value]
    if kind not in FIELDS:
        return value
    kept = {name: of for name, of in FIELDS[kind].items() if value.get(name) or (name in value and of in FIELDS)}
    return {name: declared(value[name], of) for name, of in kept.items()}


def in_use(value: Any, kind: str) -> set[str]:
    """Return KIND.FIELD of the declared fields that occur in a value."""
    if isinstance(value, list):
        return {one for each in value for one in in_use(each, kind)}
    fields = FIELDS.get(kind, {})
    below = (in_use(value[name], of) for name, of in fields.items() if name in value)
    return {f"{kind}.{name}" for name in fields if name in value}.union(*below)


def test_a_list_in_protobuf_is_that_in_json_with_the_declared_fields(plane: ControlPlane) -> None:
    read = asyncio.run(_with(plane, lambda client: streamed_pods(client, OWN.path, "")))
    assert read == declared(asyncio.run(_with(plane, _plain)), "Pod")
    assert [each["metadata"]["name"] for each in read] == ["full", "small", "w"]
    assert in_use(read, "Pod") == {f"{kind}.{name}" for kind in FIELDS.keys() - BESIDES for name in FIELDS[kind]}


def test_a_list_of_several_pages_is_read_whole(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_stream, "_PAGE", 2)
    read = asyncio.run(_with(plane, lambda client: streamed_pods(client, OWN.path, "metadata.name!=small")))
    assert [each["metadata"]["name"] for each in read] == ["full", "w"]
    assert len(asyncio.run(_with(plane, lambda client: streamed_pods(client, OWN.path, "")))) == 3


def test_a_refusal_in_protobuf_has_the_message_of_that_in_json(plane: ControlPlane) -> None:
    async def refused(client: Client) -> list[str]:
        with pytest.raises(ClusterError) as plain:
            await client.get(OWN.path, {"fieldSelector": "spec.nothing=x"})
        with pytest.raises(ClusterError) as protobuf:
            await streamed_pods(client, OWN.path, "spec.nothing=x")
        return [str(plain.value), str(protobuf.value)]

    plain, protobuf = asyncio.run(_with(plane, refused))
    assert protobuf == plain
    assert "spec.nothing" in plain
