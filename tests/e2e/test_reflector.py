"""A reflector on the real API server: versions that are too old, several pages, and lists between watches."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from controlplane.cluster import ControlPlane
from integration.scripted import Recorder
from integration.serving import CapturedLines, run, until_reached
from podberth.api.client import ClusterClient
from podberth.api.protocol import Resource, Timing
from podberth.api.reflector import ClusterAccess, Reflector
from podberth.kube.api_path import collection_path
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Metrics, WatchMetrics

_NAMESPACE = "reflected"
_MAPS = Resource("configmaps", collection_path("v1", "configmaps", _NAMESPACE), "mark")
# More than a page of either kind.
_COUNT = 130


def make(control_plane: ControlPlane, name: str) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"mark": "x"}}}
    control_plane.api.request("POST", _MAPS.path, document)


@pytest.fixture(scope="module")
def compacting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield a control plane that forgets its past within seconds: no watch cache, and etcd compacted all the time."""
    forgetful = ("--watch-cache=false", "--etcd-compaction-interval=1s")
    directory = tmp_path_factory.mktemp("compacting")
    with ControlPlane.start(directory, extra_apiserver_args=forgetful) as started:
        started.add_namespace(_NAMESPACE)
        yield started


@pytest.fixture(scope="module")
def filled(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    control_plane.add_namespace(_NAMESPACE)
    for number in range(_COUNT):
        make(control_plane, f"map-{number:03}")
    yield control_plane
    control_plane.kubectl("delete", "namespace", _NAMESPACE, "--wait=false")


class Reflected:
    """A reflector of the ConfigMaps."""

    def __init__(self, control_plane: ControlPlane, timing: Timing) -> None:
        self.sink = Recorder()
        self.lines = CapturedLines()
        metrics = Metrics((), lines_dropped=lambda: 0, in_flight=lambda: 0)
        client = ClusterClient(control_plane.kubeconfig, timing)
        watching = WatchMetrics(metrics, dict, lambda: 0)
        access = ClusterAccess(lambda: client, watching, Log(self.lines), timing)
        self.reflector = Reflector(_MAPS, client, self.sink, access)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.reflector.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def until(self, what: str, reached: Callable[[], object]) -> None:
        await until_reached(what, reached, lambda: (self.reflector._version, self.lines.lines))

    def lists(self) -> list[str]:
        return [line["reason"] for line in self.lines.lines if line["msg"] == "listed"]


def test_a_version_that_etcd_has_compacted_means_a_new_list(compacting: ControlPlane) -> None:
    for number in range(3):
        make(compacting, f"map-{number}")

    def forgotten(version: str) -> bool:
        query = f"watch=1&timeoutSeconds=1&resourceVersion={version}"
        return b'"code":410' in compacting.raw("GET", f"{_MAPS.path}?{query}")[1]

    async def test() -> None:
        reflected = Reflected(compacting, Timing())
        async with reflected.running():
            await reflected.until("all objects", lambda: len(reflected.sink.objects) == 3)
        make(compacting, "late")
        compacting.api.request("DELETE", f"{_MAPS.path}/map-0")
        version = reflected.reflector._version
        await reflected.until("the compaction", lambda: forgotten(version))
        async with reflected.running():
            await reflected.until("what was missed", lambda: set(reflected.sink.objects) == {"map-1", "map-2", "late"})
        # Expired again where the machine stood still between a list and its watch.
        assert (reflected.lists()[0], set(reflected.lists()[1:])) == ("start", {"expired"})
        assert reflected.sink.received[3:] == ["put late", "drop map-0"]

    run(test)


def test_everything_listed_again_reports_only_what_has_changed(filled: ControlPlane) -> None:
    async def test() -> None:
        reflected = Reflected(filled, replace(Timing(), resync_seconds=2.0))
        async with reflected.running():
            await reflected.until("all objects", lambda: len(reflected.sink.objects) == _COUNT)
            received = len(reflected.sink.received)
            await reflected.until("a second list", lambda: "resync" in reflected.lists())
            assert len(reflected.sink.received) == received

    run(test)
