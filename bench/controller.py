"""What pods that wait take of `podberth controller`, by number: memory, processor time, time to make all groups.

An API server of the bench's own on loopback has that many pods on no node, in gangs of eight with a Job each, and no
PodGroup; it says what the real one would, and stores what it is sent. A pod is as long as one with fifty variables.

    python -m bench.controller [--pods 0,10000,100000]

Each number is measured twice: with gangs that say their size, whose groups are made; and with gangs that do not, so
that every pod gets an Event.
"""

import argparse
import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
from aiohttp import web

from builders import gpu_pod, owned
from controlplane.ports import Ports
from e2e.following import cpu_seconds
from integration.serving import write_kubeconfig

from .figures import table

_SIZE: Final = 8
_SPACE: Final = "team"
_GROUPS: Final = "scheduling.k8s.io/v1alpha2"
_VARIABLES: Final = [{"name": f"VARIABLE_{number:03}", "value": "x" * 60} for number in range(50)]
_LIMIT_MIB: Final = 512
"""Of the Deployment in manifests/components/controller."""
_LOOK_SECONDS: Final = 0.5
# 100,000 pods are listed in 20 s and their groups made in two minutes.
_PATIENCE_SECONDS: Final = 900.0
_DISCOVERY: Final[Mapping[str, Any]] = {
    "/apis": {"groups": [{"name": "scheduling.k8s.io", "versions": [{"groupVersion": _GROUPS}]}]},
    f"/apis/{_GROUPS}": {"resources": [{"name": "podgroups", "verbs": ["list", "watch", "create", "patch"]}]},
}


class _Cluster:
    """An API server with pods that wait."""

    def __init__(self, pods: int, *, sized: bool) -> None:
        self.pods = self._listed = pods
        self.groups: dict[str, dict[str, Any]] = {}
        self.lease: dict[str, Any] | None = None
        self._watches: dict[str, list[asyncio.Queue[bytes]]] = {}
        """By the last part of the path."""
        self._pod = orjson.dumps(_pod("NAME", "GANG", sized=sized))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer as the API server would; 404 for a path that the bench does not need."""
        path = request.path
        if path.endswith(("/leases", "/leases/podberth-controller")):
            return await self._lease(request)
        if request.method == "POST" and path.endswith("/podgroups"):
            return await self._make(await request.json())
        if path.endswith("/events"):
            return web.json_response(await request.json(), status=201)
        if request.query.get("watch"):
            return await self._watch(request)
        return self._read(path, request.query)

    def _read(self, path: str, query: Mapping[str, str]) -> web.Response:
        if path in _DISCOVERY:
            return web.json_response(_DISCOVERY[path])
        if path == "/api/v1/pods":
            return self._page(query)
        if path.endswith("/podgroups"):
            return _listed(list(map(orjson.dumps, self.groups.values())), "")
        if "/jobs/" in path:
            name = path.rpartition("/")[2]
            return web.json_response({"metadata": {"name": name, "namespace": _SPACE, "uid": f"uid-{name}"}})
        return web.json_response({"kind": "Status", "code": 404}, status=404)

    def _page(self, query: Mapping[str, str]) -> web.Response:
        start = int(query.get("continue") or 0)
        end = min(start + int(query["limit"]), self._listed)
        items = [self._named(number) for number in range(start, end)]
        return _listed(items, str(end) if end < self._listed else "")

    def _named(self, number: int) -> bytes:
        gang = f"train-{number // _SIZE:06}"
        return self._pod.replace(b"NAME", f"{gang}-{number % _SIZE}".encode()).replace(b"GANG", gang.encode())

    async def _make(self, group: dict[str, Any]) -> web.Response:
        name = group["metadata"]["name"]
        group["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": str(len(self.groups) + 2)}
        self.groups[name] = group
        self._send_event("podgroups", orjson.dumps(group))
        return web.json_response(group, status=201)

    def add_pod(self) -> None:
        """Have another pod wait, so that everything is looked at again."""
        self.pods += 1
        self._send_event("pods", self._named(self.pods - 1))

    def _send_event(self, what: str, thing: bytes) -> None:
        for watch in self._watches.get(what, ()):
            watch.put_nowait(_added(thing))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        what = request.path.rpartition("/")[2]
        self._watches.setdefault(what, []).append(lines)
        # Lists are of version 1, so nothing that came between list and watch may be lost.
        for thing in [self._named(number) for number in range(self._listed, self.pods)] if what == "pods" else ():
            lines.put_nowait(_added(thing))
        while True:
            await response.write(await lines.get())

    async def _lease(self, request: web.Request) -> web.Response:
        if request.method != "GET":
            self.lease = {"metadata": {"resourceVersion": "1"}, **await request.json()}
            self.lease["metadata"]["resourceVersion"] = "1"
        return web.json_response(self.lease or {"kind": "Status", "code": 404}, status=200 if self.lease else 404)


def _pod(name: str, gang: str, *, sized: bool) -> dict[str, Any]:
    labels = {"podberth.io/gang": gang}
    annotations = {"podberth.io/gang-size": str(_SIZE)} if sized else {}
    made = gpu_pod(8, name=name, labels=labels, annotations=annotations, schedulingGroup={"podGroupName": gang})
    made["spec"]["containers"][0]["env"] = _VARIABLES
    made["metadata"] |= {"namespace": _SPACE, "uid": f"uid-{name}", "resourceVersion": "1"}
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return owned(made, "Job", name=gang, uid=f"uid-{gang}")


def _added(thing: bytes) -> bytes:
    return b'{"type":"ADDED","object":' + thing + b"}\n"


def _listed(items: Sequence[bytes], token: str) -> web.Response:
    metadata = orjson.dumps({"resourceVersion": "1", "continue": token})
    body = b'{"metadata":' + metadata + b',"items":[' + b",".join(items) + b"]}"
    return web.Response(body=body, content_type="application/json")


@asynccontextmanager
async def _serving(cluster: _Cluster) -> AsyncIterator[str]:
    application = web.Application(client_max_size=2**24)
    application.router.add_route("*", "/{path:.*}", cluster.answer)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield "http://{}:{}".format(*runner.addresses[0])
    finally:
        await runner.cleanup()


async def _row(pods: int, folder: Path, *, sized: bool) -> tuple[str, ...]:
    cluster, port = _Cluster(pods, sized=sized), Ports().take()
    async with _serving(cluster) as url:
        command = ("-m", "podberth", "controller", "--metrics-listen", f"127.0.0.1:{port}")
        kubeconfig = write_kubeconfig(folder, url, {"tokenFile": "token"})
        began = asyncio.get_running_loop().time()
        nobody = asyncio.subprocess.DEVNULL
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, *command, "--kubeconfig", str(kubeconfig)), stdout=nobody, stderr=nobody
        )
        try:
            for more in range(2):
                wanted = _wanted(pods + more, sized=sized)
                await _until(wanted, f"http://127.0.0.1:{port}/metrics", running)
                cluster.add_pod()
            seconds = asyncio.get_running_loop().time() - began
            figures = (seconds, cpu_seconds(running.pid), *_memory_mib(running.pid))
        finally:
            running.terminate()
            await running.wait()
    return (
        f"{pods:,}",
        f"{len(cluster.groups):,}",
        f"{0 if sized else pods:,}",
        *(f"{figure:.1f}" for figure in figures),
        _verdict(figures[-1]),
    )


def _wanted(pods: int, *, sized: bool) -> Mapping[str, float]:
    """Return the metrics of a controller that leads, has seen all pods, and has made all groups or Events."""
    wanted = {"podberth_controller_leads": 1.0, 'podberth_watch_objects{resource="pods"}': float(pods)}
    if sized:
        wanted['podberth_watch_objects{resource="podgroups.scheduling.k8s.io"}'] = float(-(-pods // _SIZE))
    elif pods:
        wanted['podberth_controller_notices{reason="PodGroupMissing"}'] = float(pods)
    return wanted


async def _until(wanted: Mapping[str, float], metrics: str, running: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS), aiohttp.ClientSession() as session:
        while running.returncode is None:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                async with session.get(metrics) as answer:
                    text = await answer.text()
            except aiohttp.ClientError:
                continue
            found = {name: float(value) for name, value in re.findall(r"^(podberth_\S+) (\S+)$", text, re.MULTILINE)}
            if wanted.items() <= found.items():
                return
    raise RuntimeError(f"the controller has ended with {running.returncode}")


def _memory_mib(pid: int) -> tuple[float, float]:
    status = Path(f"/proc/{pid}/status").read_text()
    kib = {line.partition(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Vm")}
    return int(kib["VmRSS"]) / 1024, int(kib["VmHWM"]) / 1024


def _verdict(peak_mib: float) -> str:
    return "met" if peak_mib <= _LIMIT_MIB else "MISSED"


async def _measure(counts: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        folder = Path(name)
        (folder / "token").write_text("none\n")
        rows = [await _row(count, folder, sized=sized) for sized in (True, False) for count in counts]
    header = (
        "pods",
        "groups made",
        "Events",
        "seconds",
        "CPU, s",
        "RSS, MiB",
        "peak, MiB",
        f"within {_LIMIT_MIB} MiB",
    )
    print(table(header, rows))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", default="0,10000,100000")
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[1] / "webhook"))
    asyncio.run(_measure(sorted(map(int, parser.parse_args().pods.split(",")))))


if __name__ == "__main__":
    main()
