"""The condition TopologyFresh on a real API server, of two replicas: an agent falls silent, and is heard again."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from integration.serving import CapturedLines, until
from podberth.api.client import ClusterClient
from podberth.api.protocol import OBJECTS, AnswerLimits, Timing
from podberth.cluster.follow import LiveCluster
from podberth.cluster.layered_policies import LayeredPolicies
from podberth.cluster.live_nodes import LiveTopology
from podberth.cluster.policy_status import PolicyStatuses
from podberth.cluster.whole_objects import LiveObjects
from podberth.cluster.workloads import LiveWorkloads
from podberth.conventions import Conventions
from podberth.facts.object_kinds import FOLLOWED
from podberth.kube.api_path import ApiPath
from podberth.kube.schema import PodSchema
from podberth.server.reload import WatchedSnapshot
from podberth.server.reload import following as following_policies
from podberth.server.state import ServingState
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Metrics
from snapshots import policy

from .access import grant
from .following import Following
from .podberth_process import ROOT

# The order is a cluster's, the length is not: a status says what has stayed the same for longer than a look takes.
TIMING = Timing(look_seconds=0.2, settle_seconds=1.0)
READS = policy("reads", '  mutations:\n  - labels: {a.example/nodes: "string(topology.nodes(gpu).count)"}')
READS_NOT = policy("reads-not", "  mutations:\n  - labels: {a.example/is: \"'here'\"}")


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    """Yield a cluster with a machine and two policies; what follows it are the tests' own replicas."""
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        plane.kubectl("apply", "-f", str(ROOT / "manifests" / "base" / "gpupolicy-crd.yaml"))
        plane.await_crds()
        plane.kubectl("apply", "-f", "-", input=f"{READS}\n---\n{READS_NOT}")
        made = Following(plane, tmp_path_factory.mktemp("following"))
        try:
            made.add("hgx-h100-8", "hgx-0")
            yield made
        finally:
            made.podberth.close()
        plane.check()


class Counting(ClusterClient):
    """A client that counts what it writes of the policy `reads`."""

    writes = 0

    async def send(
        self,
        method: str,
        path: ApiPath,
        document: object,
        content_type: str = "application/json",
        limits: AnswerLimits | None = None,
    ) -> bytes:
        """Count a write that was taken."""
        body = await super().send(method, path, document, content_type, limits)
        self.writes += "/reads/status?" in path
        return body


@asynccontextmanager
async def replica(kubeconfig: Path) -> AsyncIterator[Counting]:
    """Follow the cluster and write statuses, wired as `podberth serve` is; yield what writes them."""
    log, state, conventions = Log(CapturedLines()), ServingState(), Conventions()
    metrics = Metrics((), lines_dropped=lambda: 0, in_flight=lambda: 0)
    source = LayeredPolicies(None, conventions, PodSchema.packaged())
    snapshot = WatchedSnapshot(source, state, metrics, log, live=True)
    writer = Counting(kubeconfig, TIMING)
    topology = LiveTopology(conventions, log, snapshot.adopt)
    statuses = PolicyStatuses(writer, log, TIMING, "podberth", lambda: topology.stale_count)
    taken = following_policies(source, snapshot, statuses, metrics, log)
    objects = LiveObjects(OBJECTS, snapshot.adopt_objects)
    workloads = LiveWorkloads(FOLLOWED, snapshot.adopt_workloads, log)
    connect = partial(ClusterClient, kubeconfig, TIMING)
    takes = taken, source.take_exceptions, snapshot.adopt_params, (snapshot.adopt_namespaced, lambda *_: None)
    schema = PodSchema.packaged()
    cluster = LiveCluster(connect, topology, objects, workloads, *takes, schema, metrics, log, TIMING)
    tasks = [asyncio.create_task(each) for each in (cluster.run(), statuses.run())]
    try:
        yield writer
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def conditions(plane: ControlPlane, name: str) -> dict[str, Any]:
    status = plane.get("gpupolicy", name).get("status", {})
    return {each["type"]: each for each in status.get("conditions", ())}


def test_a_policy_that_asks_for_nodes_says_when_agents_are_silent(following: Following) -> None:
    plane = following.control_plane

    async def until_said(expected: str) -> dict[str, Any]:
        async def said() -> dict[str, Any] | None:
            found: dict[str, Any] = (await asyncio.to_thread(conditions, plane, "reads")).get("TopologyFresh", {})
            return found if found.get("status") == expected else None

        return await until(f"TopologyFresh to be {expected}", said)

    async def test() -> None:
        async with replica(following.kubeconfig()) as one, replica(following.kubeconfig()) as other:
            await until_said("True")
            before = one.writes + other.writes
            await asyncio.to_thread(partial(following.beat, "hgx-0", seconds=1))
            silent = await until_said("False")
            assert (silent["reason"], silent["message"].partition(":")[0]) == (
                "AgentsSilent",
                "heartbeats of agents have run out",
            )
            await asyncio.to_thread(following.beat, "hgx-0")
            await until_said("True")
            # One write for each turn, though two replicas have seen it.
            assert one.writes + other.writes == before + 2

    asyncio.run(test())
    assert "TopologyFresh" not in conditions(plane, "reads-not")
    assert conditions(plane, "reads-not")["Active"]["status"] == "True"
