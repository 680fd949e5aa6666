"""The floor's params are written when they differ, and tried again when that fails."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import pytest

from controlplane.wait import until
from integration.serving import CapturedLines
from node_builders import node_manifest
from podberth.api.protocol import APPLY_PATCH, AnswerLimits, Timing, refusal
from podberth.api.reflector import ClusterAccess, run_together
from podberth.controller import floor as module
from podberth.controller.floor import Floor
from podberth.conventions import Conventions
from podberth.telemetry.controller_metrics import ControllerMetrics
from podberth.telemetry.log import Log

if TYPE_CHECKING:
    from podberth.api.opening import Client

PARAMS = "/api/v1/namespaces/podberth-system/configmaps"
WRITTEN = {"nodes": "known", "nvidia.com_gpu": "whole nvidia.com/gpu:NoSchedule"}
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def gpu_node(name: str, **devices: str) -> dict[str, Any]:
    return node_manifest(name, devices={"nvidia.com/gpu": "8", **devices}, taints=[TAINT])


class Cluster:
    """An API server with nodes and perhaps the ConfigMap, whose watches bring what a test puts into them."""

    def __init__(self, *nodes: dict[str, Any], data: dict[str, str] | None = None, there: bool = True) -> None:
        metadata = {"name": "podberth-floor", "namespace": "podberth-system"}
        params = {"metadata": metadata, **({"data": data} if data is not None else {})}
        self.objects = {"/api/v1/nodes": list(nodes), PARAMS: [params] if there else []}
        self.events: dict[str, asyncio.Queue[bytes]] = {path: asyncio.Queue() for path in self.objects}
        self.sent: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        """The statuses of the next answers to writes; none: success."""
        self._version = 1

    async def get(self, path: str, _query: dict[str, str], _limits: AnswerLimits | None = None) -> bytes:
        if path == "/apis":
            return b'{"groups": []}'
        items = [self._versioned(each) for each in self.objects[path]]
        return json.dumps({"metadata": {"resourceVersion": str(self._version)}, "items": items}).encode()

    async def send(self, *request: Any) -> bytes:
        method, path, document, kind, _ = request
        assert (method, kind) == ("PATCH", APPLY_PATCH)
        assert path == f"{PARAMS}/podberth-floor?fieldManager=podberth-floor&force=true"
        self.sent.append(document)
        if self.statuses:
            raise refusal("PATCH params", self.statuses.pop(0), b'{"message": "no"}', "")
        return b"{}"

    @asynccontextmanager
    async def stream(self, path: str, _query: dict[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        async def events() -> AsyncIterator[bytes]:
            while True:
                yield await self.events[path].get()

        yield events()

    async def reset(self) -> None:
        """Have no connections."""

    def happens(self, verb: str, path: str, document: dict[str, Any]) -> None:
        event = {"type": verb, "object": self._versioned(document)}
        self.events[path].put_nowait(json.dumps(event).encode() + b"\n")

    def _versioned(self, document: dict[str, Any]) -> dict[str, Any]:
        self._version += 1
        return {**document, "metadata": {**document["metadata"], "resourceVersion": str(self._version)}}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TOGETHER_SECONDS", 0.0)


def act(cluster: Cluster, test: Callable[[Floor], Awaitable[None]]) -> list[dict[str, Any]]:
    """Run the floor as leader, and the test beside it; return the lines of the log."""
    lines = CapturedLines()
    timing = Timing(first_wait_seconds=0.01, least_wait_seconds=0.005, longest_wait_seconds=0.02)

    async def run() -> None:
        floor = Floor(
            ClusterAccess(lambda: cast("Client", cluster), ControllerMetrics(), Log(lines), timing), Conventions()
        )
        acting = asyncio.create_task(run_together([*(each.run() for each in floor.followers), floor.act()]))
        try:
            await until(lambda: not any(each.unlisted() for each in floor.followers), what="all to be listed")
            await test(floor)
        finally:
            acting.cancel()
            with suppress(asyncio.CancelledError):
                await acting

    asyncio.run(run())
    return lines.lines


def data(cluster: Cluster) -> list[dict[str, str]]:
    return [each["data"] for each in cluster.sent]


def test_params_that_differ_are_written_once() -> None:
    cluster = Cluster(gpu_node("a"), data={"nodes": "known"})

    async def test(floor: Floor) -> None:
        await until(lambda: cluster.sent, what="a write")
        # A node of the same kind changes nothing; one with another resource does.
        cluster.happens("ADDED", "/api/v1/nodes", gpu_node("b"))
        cluster.happens("ADDED", "/api/v1/nodes", gpu_node("c", **{"rdma/hca": "1"}))
        await until(lambda: len(cluster.sent) > 1, what="another")
        watched = floor.followers[0].watched()
        assert {name: each.objects for name, each in watched.items()} == {"nodes": 3, "floor": 1}

    act(cluster, test)
    assert data(cluster) == [WRITTEN, {**WRITTEN, "rdma_hca": "other"}]
    assert cluster.sent[0]["metadata"] == {"name": "podberth-floor", "namespace": "podberth-system"}


def test_a_node_that_goes_takes_its_resources_along() -> None:
    cluster = Cluster(gpu_node("a"), gpu_node("b", **{"rdma/hca": "1"}), data={**WRITTEN, "rdma_hca": "other"})

    async def test(_: Floor) -> None:
        cluster.happens("DELETED", "/api/v1/nodes", gpu_node("b"))
        await until(lambda: cluster.sent, what="a write")

    act(cluster, test)
    assert data(cluster) == [WRITTEN]


def test_what_somebody_else_changes_is_written_back() -> None:
    cluster = Cluster(gpu_node("a"), data=WRITTEN)

    async def test(_: Floor) -> None:
        changed = {**cluster.objects[PARAMS][0], "data": {"nvidia.com_gpu": "whole"}}
        cluster.happens("MODIFIED", PARAMS, changed)
        await until(lambda: cluster.sent, what="a write")

    act(cluster, test)
    assert data(cluster) == [WRITTEN]


def test_without_the_config_map_nothing_is_written_until_it_comes() -> None:
    cluster = Cluster(gpu_node("a"), there=False)

    async def test(_: Floor) -> None:
        cluster.happens("ADDED", "/api/v1/nodes", gpu_node("b", **{"rdma/hca": "1"}))
        cluster.happens("ADDED", PARAMS, {"metadata": {"name": "podberth-floor"}})
        await until(lambda: cluster.sent, what="a write")

    act(cluster, test)
    assert [each["nodes"] for each in data(cluster)] == ["known"] * len(cluster.sent)


def test_a_write_that_fails_is_tried_again_and_logged() -> None:
    cluster = Cluster(gpu_node("a"))
    cluster.statuses = [403, 500]

    async def test(_: Floor) -> None:
        await until(lambda: len(cluster.sent) > 2, what="three tries")

    lines = act(cluster, test)
    assert data(cluster) == [WRITTEN] * 3
    said = [each for each in lines if each["msg"].startswith("floor: its params are not written")]
    assert len(said) == 2


def test_a_node_that_cannot_be_read_is_left_out_and_counted() -> None:
    broken = gpu_node("broken")
    broken["spec"]["taints"] = [7]
    cluster = Cluster(gpu_node("a"), broken)

    async def test(floor: Floor) -> None:
        await until(lambda: cluster.sent, what="a write")
        assert floor.followers[0].watched()["nodes"].left_out == {"unreadable": 1}

    act(cluster, test)
    assert data(cluster) == [WRITTEN]
