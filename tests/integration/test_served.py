"""The kinds that are followed, by the answers of an API server's discovery."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from integration.scripted import scripted
from integration.serving import CapturedLines, run, until_reached
from podberth.api.client import ClusterClient
from podberth.api.protocol import Timing, read_kinds, read_versions
from podberth.api.reflector import ClusterAccess
from podberth.cluster import workloads
from podberth.cluster.live_policies import LivePolicies
from podberth.cluster.served import ServedKinds
from podberth.cluster.workloads import LiveWorkloads
from podberth.errors import ClusterError
from podberth.facts.object_kinds import FOLLOWED
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Metrics, WatchMetrics

TIMING = Timing(
    first_wait_seconds=0.01,
    longest_wait_seconds=0.05,
    least_wait_seconds=0.01,
    refused_seconds=0.2,
    discover_seconds=0.1,
)
JOBS, CLAIMS = "jobs.batch", "resourceclaims.resource.k8s.io"
VERBS = ["list", "watch"]

Paths = dict[str, Any]
"""The answers by path: a document, or a status code."""


def groups(*versions: str) -> Paths:
    made: dict[str, list[dict[str, str]]] = {}
    for each in versions:
        made.setdefault(each.partition("/")[0], []).append({"groupVersion": each})
    listed = [{"name": name, "preferredVersion": each[0], "versions": each} for name, each in made.items()]
    return {"/apis": {"kind": "APIGroupList", "groups": listed}}


def resources(version: str, *plurals: str) -> Paths:
    made = [{"name": each, "verbs": VERBS} for each in plurals]
    return {f"/apis/{version}": {"kind": "APIResourceList", "resources": made}}


def objects(path: str, *names: str) -> Paths:
    items = [{"metadata": {"name": name, "namespace": "team", "uid": name, "resourceVersion": "1"}} for name in names]
    return {path: {"metadata": {"resourceVersion": "1"}, "items": items}}


class Watching:
    """Follows the kinds of a scripted API server."""

    def __init__(self, kubeconfig: Path, timing: Timing) -> None:
        self.lines = CapturedLines()
        self.handed: list[set[str]] = []
        """The names of the GPUPolicies, each time that they were handed on."""
        log = Log(self.lines)
        metrics = WatchMetrics(Metrics((), lines_dropped=lambda: 0, in_flight=lambda: 0), dict, lambda: 0)
        self.workloads = LiveWorkloads(FOLLOWED, lambda _: None, log)
        connect = partial(ClusterClient, kubeconfig, timing)
        access = ClusterAccess(connect, metrics, log, timing)
        self.served = ServedKinds(self.workloads.sinks, access)
        self.policies = LivePolicies(self._take, access)

    async def _take(self, documents: Mapping[str, Any]) -> None:
        self.handed.append(set(documents))

    async def until(self, what: str, reached: Callable[[], object]) -> None:
        await until_reached(what, reached, lambda: (self.served.states(), self.lines.lines))


@asynccontextmanager
async def watching(
    directory: Path, paths: Mapping[str, Any], timing: Timing = TIMING, *, of_policies: bool = False
) -> AsyncIterator[Watching]:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query and isinstance(paths.get(request.path), dict):
            await paths.get("watches", asyncio.Event()).wait()
        found = paths.get(request.path, 404)
        status = found if isinstance(found, int) else 200
        body = {"kind": "Status", "code": status} if isinstance(found, int) else found
        return web.Response(status=status, text=body if isinstance(body, str) else json.dumps(body))

    async with scripted(directory, answer) as server:
        seen = Watching(server.kubeconfig, timing)
        task = asyncio.create_task((seen.policies if of_policies else seen.served).run())
        try:
            yield seen
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


BATCH: Paths = {**resources("batch/v1", "jobs"), **objects("/apis/batch/v1/jobs", "a", "b")}


def test_a_served_kind_is_listed_in_the_first_readable_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {
        **groups("batch/v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v2"),
        **BATCH,
        **resources("resource.k8s.io/v1beta1", "resourceclaims"),
        **objects("/apis/resource.k8s.io/v1beta1/resourceclaims", "c"),
    }

    async def test() -> None:
        async with watching(tmp_path, paths) as seen:
            assert {JOBS, CLAIMS} <= set(seen.served.unlisted())
            await seen.until("all to be listed", seen.served.settled.is_set)
            states = seen.served.states()
            assert {name for name, state in states.items() if state == "followed"} == {JOBS, CLAIMS}
            assert set(states.values()) == {"followed", "not served"}
            assert set(seen.workloads.facts().owners) == {"a", "b"}
            assert seen.served.watched()[JOBS].objects == 2
            assert seen.served.follows_owner("batch", "Job", "u")
            assert not seen.served.follows_owner("jobset.x-k8s.io", "JobSet", "u")
            assert not seen.served.follows_owner("apps", "ReplicaSet", "u")
            monkeypatch.setattr(workloads, "MOST_OBJECTS", 2)
            [jobs] = [sink for kind, sink in seen.workloads.sinks.items() if kind.name == JOBS]
            jobs.put("team/c", {"metadata": {"name": "c", "namespace": "team", "uid": "c"}, "spec": {}})
            assert [seen.served.follows_owner("batch", "Job", uid) for uid in ("c", "u")] == [False, True]

    run(test)


def test_pod_groups_are_known_to_be_served_where_there_is_none_yet_and_until_they_are_gone(tmp_path: Path) -> None:
    path = "/apis/scheduling.k8s.io/v1beta1/podgroups"
    paths = {
        **groups("scheduling.k8s.io/v1beta1"),
        **resources("scheduling.k8s.io/v1beta1", "podgroups"),
        path: 403,
    }

    async def test() -> None:
        async with watching(tmp_path, paths) as seen:
            await seen.until("nobody to wait", seen.served.settled.is_set)
            assert seen.workloads.facts().served_groups == frozenset()
        paths.update(objects(path))
        async with watching(tmp_path, paths) as seen:
            await seen.until("all to be listed", seen.served.settled.is_set)
            assert seen.workloads.facts().served_groups == {"scheduling.k8s.io"}
            [groups_of_pods] = [
                sink for kind, sink in seen.workloads.sinks.items() if kind.name == "podgroups.scheduling.k8s.io"
            ]
            groups_of_pods.forget()
            assert seen.workloads.facts().served_groups == {"scheduling.k8s.io"}
            groups_of_pods.record("absent")
            assert seen.workloads.facts().served_groups == frozenset()

    run(test)


def test_a_kind_that_discovery_no_longer_names_is_gone(tmp_path: Path) -> None:
    async def test() -> None:
        async with watching(tmp_path, groups()) as seen:
            [sink] = [each for kind, each in seen.workloads.sinks.items() if kind.name == "podgroups.scheduling.k8s.io"]
            await seen.until("nothing to group pods", lambda: seen.workloads.facts().is_groupless)
            assert seen.workloads.facts().is_claimless
            sink.record("listed")
            assert not seen.workloads.facts().is_groupless
            assert seen.workloads.facts().is_claimless
            next(each for kind, each in seen.workloads.sinks.items() if kind.role == "template").record("listed")
            assert not seen.workloads.facts().is_claimless
            await seen.until("it to be gone", lambda: sink.presence != "listed")
            assert seen.workloads.facts().is_groupless
            sink.record("unknown")  # served again, and perhaps not to be listed by podberth
            assert not seen.workloads.facts().is_groupless

    run(test)


@pytest.mark.parametrize("answer", [500, "rubbish"])
def test_a_kind_that_cannot_be_listed_for_a_fault_of_its_own_keeps_nobody_waiting(
    tmp_path: Path, answer: int | str
) -> None:
    paths = {**groups("batch/v1"), **BATCH, "/apis/batch/v1/jobs": answer}

    async def test() -> None:
        async with watching(tmp_path, paths) as seen:
            await seen.until("nobody to wait", seen.served.settled.is_set)
            assert seen.served.states()[JOBS] == "listing"
            assert not seen.served.follows_owner("batch", "Job", "u")
            paths.update(BATCH)
            await seen.until("it to be listed", lambda: seen.served.states()[JOBS] == "followed")

    run(test)


POLICIES = "/apis/podberth.io/v1alpha1/gpupolicies"
GPU_POLICIES: Paths = {**groups("podberth.io/v1alpha1"), **resources("podberth.io/v1alpha1", "gpupolicies")}


def policies(*names: str) -> Paths:
    items = [{"metadata": {"name": name, "uid": name, "resourceVersion": "1"}} for name in names]
    return {POLICIES: {"metadata": {"resourceVersion": "1"}, "items": items}}


def failures(seen: Watching) -> int:
    return sum(line["msg"].startswith("gpupolicies") and "lost" in line["msg"] for line in seen.lines.lines)


@pytest.mark.parametrize("answer", [500, "rubbish"])
def test_policies_that_cannot_be_listed_are_waited_for_and_none_is_handed_on(tmp_path: Path, answer: int | str) -> None:
    paths = {**GPU_POLICIES, POLICIES: answer}

    async def test() -> None:
        # Without a time in which faults are excused.
        async with watching(tmp_path, paths, replace(TIMING, refused_seconds=0.0), of_policies=True) as seen:
            await seen.until("some tries", lambda: failures(seen) > 5)
            assert (seen.handed, seen.policies.unlisted()) == ([], ["gpupolicies.podberth.io"])
            paths.update(policies("a"))
            await seen.until("it to be handed on", lambda: seen.handed)
            assert (seen.handed, seen.policies.unlisted()) == ([{"a"}], [])

    run(test)


@pytest.mark.parametrize("answers", [{"/apis": 403}, groups(), {**GPU_POLICIES, POLICIES: 403}])
def test_policies_that_are_forbidden_or_not_served_are_none(tmp_path: Path, answers: Paths) -> None:
    async def test() -> None:
        async with watching(tmp_path, answers, of_policies=True) as seen:
            await seen.until("no policy to be handed on", lambda: seen.handed)
            assert seen.handed == [set()]

    run(test)


class Counted(dict[str, Any]):
    """Answers by path, and how often each was asked for."""

    def __init__(self, answers: Paths) -> None:
        super().__init__(answers)
        self.asked: Counter[str] = Counter()

    def get(self, path: str, default: Any = None) -> Any:
        self.asked[path] += 1
        return super().get(path, default)


def test_policies_stay_until_discovery_says_that_they_are_gone(tmp_path: Path) -> None:
    async def test() -> None:
        watches = asyncio.Event()
        paths = Counted({**GPU_POLICIES, **policies("a", "b"), "watches": watches})
        async with watching(tmp_path, paths, of_policies=True) as seen:
            await seen.until("both", lambda: seen.handed == [{"a", "b"}])
            paths[POLICIES] = 404
            watches.set()
            await seen.until("some tries", lambda: paths.asked[POLICIES] > 8)
            assert seen.handed == [{"a", "b"}]
            paths |= {**policies("b"), "watches": asyncio.Event()}
            await seen.until("what was deleted meanwhile to go", lambda: seen.handed[-1] == {"b"})
            paths |= groups()
            paths[POLICIES] = 404
            paths["watches"].set()
            await seen.until("the rest to go", lambda: seen.handed[-1] == set())
            assert seen.handed == [{"a", "b"}, {"b"}, set()]

    run(test)


def test_nothing_waits_for_kinds_if_discovery_is_forbidden(tmp_path: Path) -> None:
    async def test() -> None:
        async with watching(tmp_path, {"/apis": 403}) as seen:
            await seen.until("nobody to wait", seen.served.settled.is_set)
            assert set(seen.served.states().values()) == {"listing"}
            assert [line["msg"] for line in seen.lines.lines] == ["kinds"]

    run(test)


@pytest.mark.parametrize("answer", [503, "rubbish", {"groups": [3]}])
def test_an_api_server_without_an_answer_is_waited_for(tmp_path: Path, answer: Any) -> None:
    paths: Paths = {"/apis": answer, **BATCH}

    async def test() -> None:
        # Nothing is settled before it answers, whatever happens to the first looks.
        async with watching(tmp_path, paths, replace(TIMING, refused_seconds=0.0)) as seen:
            await seen.until("a first look", lambda: seen.lines.lines)
            assert not seen.served.settled.is_set()
            assert JOBS in seen.served.unlisted()
            paths.update(groups("batch/v1"))
            await seen.until("all to be listed", seen.served.settled.is_set)
            assert seen.served.states()[JOBS] == "followed"

    run(test)


def test_a_group_version_that_goes_while_it_is_asked_for_serves_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with watching(tmp_path, groups("batch/v1")) as seen:
            await seen.until("all to be known", seen.served.settled.is_set)
            assert set(seen.served.states().values()) == {"not served"}

    run(test)


@pytest.mark.parametrize("read", [read_versions, lambda body: read_kinds(body, "batch/v1")])
@pytest.mark.parametrize(
    "body", [b"", b"{}", b"3", b'{"groups": 3, "resources": 3}', b'{"groups": [{}], "resources": [{}]}']
)
def test_an_invalid_answer_to_a_discovery_is_reported(read: Callable[[bytes], object], body: bytes) -> None:
    with pytest.raises(ClusterError, match=r"^discovery of (groups|resources): got "):
        read(body)
