"""Kinds that come and go while podberth runs, and kinds that it may not list, on the real API server."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from integration.serving import CapturedLines, run, until_reached
from podberth.api.client import ClusterClient
from podberth.api.protocol import Timing
from podberth.api.reflector import ClusterAccess
from podberth.cluster.served import ServedKinds
from podberth.cluster.workloads import LiveWorkloads
from podberth.facts.cluster import ClusterFacts
from podberth.facts.object_kinds import FOLLOWED
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Metrics, WatchMetrics
from podberth.wellknown import NAMESPACE

from .access import enter, grant
from .operator_crds import JOBSETS, PYTORCH, Crds, install, job_set, operator_crds, pytorch_job

pytestmark = pytest.mark.shared("crds")

TEAM = "team-a"
TIMING = Timing(discover_seconds=0.5, first_wait_seconds=0.05, longest_wait_seconds=0.5)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        plane.add_namespace(TEAM)
        yield plane
        plane.check()


@pytest.fixture(scope="module")
def kubeconfig(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return enter(plane, tmp_path_factory.mktemp("access"))


JOB_SET_SAYS = {
    "replicatedJobs": [
        {"name": "w", "replicas": 2, "template": {"spec": {"completions": 3, "parallelism": 3, "template": "Asks"}}}
    ]
}
PYTORCH_JOB_SAYS = {
    "pytorchReplicaSpecs": {
        "Master": {"replicas": 1, "template": "Asks"},
        "Worker": {"replicas": 3, "template": "Asks"},
    }
}


def spelled(spec: object) -> str:
    """Return what is kept of an owner's spec, with the name of what stands for a pod template."""
    return json.dumps(spec, sort_keys=True, default=lambda asks: type(asks).__name__)


@dataclass(slots=True)
class Watching:
    """What is followed, and what has been handed on."""

    served: ServedKinds
    known: list[ClusterFacts]
    log: CapturedLines

    async def until(self, what: str, reached: Callable[[], object]) -> None:
        await until_reached(what, reached, lambda: (self.served.states(), self.log.lines))

    def sizes(self) -> set[str]:
        """Return what the owners that are known say about their sizes, and a word for what their templates ask for."""
        return {spelled(owner["spec"]) for owner in self.known[-1].owners.values()}

    def problems(self, what: str) -> list[str]:
        return [line["problem"] for line in self.log.lines if line["msg"] == "kinds" and what in line["problem"]]


@asynccontextmanager
async def watching(kubeconfig: Path, timing: Timing = TIMING) -> AsyncIterator[Watching]:
    lines, known = CapturedLines(), list[ClusterFacts]()
    log = Log(lines)
    metrics = WatchMetrics(Metrics((), lines_dropped=lambda: 0, in_flight=lambda: 0), dict, lambda: 0)
    workloads = LiveWorkloads(FOLLOWED, known.append, log)
    access = ClusterAccess(partial(ClusterClient, kubeconfig, timing), metrics, log, timing)
    served = ServedKinds(workloads.sinks, access)

    async def hand_on() -> None:
        await served.settled.wait()
        await workloads.hand_on()

    tasks = [asyncio.create_task(served.run()), asyncio.create_task(hand_on())]
    try:
        yield Watching(served, known, lines)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture(scope="module")
def real_crds() -> Crds:
    return operator_crds()


@pytest.mark.since(33)  # 1.31 takes a rule of JobSet's CRD for wrong
def test_a_crd_that_is_installed_later_is_followed_and_one_that_is_deleted_is_forgotten(
    plane: ControlPlane, kubeconfig: Path, real_crds: Crds
) -> None:
    async def on_plane(*arguments: Any) -> Any:
        return await asyncio.to_thread(*arguments)

    async def test() -> None:
        async with watching(kubeconfig) as seen:
            await seen.until("the first snapshot", lambda: seen.known)
            assert seen.served.states()[JOBSETS] == seen.served.states()[PYTORCH] == "not served"
            for _ in range(2):  # the second time it is installed again
                await on_plane(install, plane, real_crds)
                await on_plane(plane.apply, job_set("set", TEAM), pytorch_job("train", TEAM))
                await seen.until("the owners", lambda: len(seen.sizes()) == 2)
                assert seen.sizes() == {spelled(JOB_SET_SAYS), spelled(PYTORCH_JOB_SAYS)}
                assert seen.served.unlisted() == []
                assert seen.served.states()[JOBSETS] == seen.served.states()[PYTORCH] == "followed"
                await on_plane(plane.kubectl, "delete", "crd", *real_crds)
                await seen.until("the owners to be forgotten", lambda: not seen.known[-1].owners)
                await seen.until("the kinds to be gone", lambda: seen.served.states()[PYTORCH] == "not served")
                await seen.until("the kinds to be gone", lambda: seen.served.states()[JOBSETS] == "not served")
                gone = f"{PYTORCH}: no longer served; what was known of it is forgotten"
                await seen.until("the log to say that", lambda gone=gone: seen.problems(PYTORCH)[-1:] == [gone])  # type: ignore[misc]
            assert not [line for line in seen.log.lines if "a bug" in line["msg"]]

    # Each wait in it has its bound; a CRD that comes and goes takes seconds.
    asyncio.run(test())


def rules(plane: ControlPlane) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plane.api.read("/apis/rbac.authorization.k8s.io/v1/clusterroles/podberth")["rules"]
    return found


def put_rules(plane: ControlPlane, rules: list[dict[str, Any]]) -> None:
    patch = [{"op": "replace", "path": "/rules", "value": rules}]
    plane.kubectl("patch", "clusterrole", "podberth", "--type=json", "-p", json.dumps(patch))


def may_list_classes(plane: ControlPlane) -> bool:
    asked = {"group": "resource.k8s.io", "resource": "deviceclasses", "verb": "list"}
    spec = {"user": f"system:serviceaccount:{NAMESPACE}:podberth", "resourceAttributes": asked}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = plane.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


@pytest.mark.since(34)  # resource.k8s.io/v1
def test_a_kind_that_may_not_be_listed_is_reported_and_keeps_nobody_waiting(
    plane: ControlPlane, kubeconfig: Path
) -> None:
    granted = rules(plane)
    put_rules(plane, [rule for rule in granted if "resource.k8s.io" not in rule["apiGroups"]])
    wait_for(lambda: not may_list_classes(plane), what="the API server to know of the rights")

    async def test() -> None:
        async with watching(kubeconfig, Timing(discover_seconds=0.5, refused_seconds=1.0)) as seen:
            await seen.until("the first snapshot", lambda: seen.known)
            states = seen.served.states()
            refused = {name for name, state in states.items() if state == "refused"}
            assert refused == {name for name in states if name.endswith(".resource.k8s.io")}
            assert states["jobs.batch"] == "followed"
            assert seen.served.unlisted() == []
            await seen.until("the log to name the problem", lambda: seen.problems("deviceclasses"))
            assert "got 403" in seen.problems("deviceclasses")[0]
            right = "list deviceclasses.resource.k8s.io, as manifests/base/rbac.yaml does"
            assert f"grant ServiceAccount podberth-system/podberth: {right}" in seen.problems("deviceclasses")[0]
            await asyncio.to_thread(put_rules, plane, granted)
            await seen.until("the rights to count", lambda: "refused" not in seen.served.states().values())
            await seen.until("all to be followed", lambda: "listing" not in seen.served.states().values())
            assert len(seen.problems("deviceclasses")) == 1

    try:
        run(test)
    finally:
        put_rules(plane, granted)
