"""A replica stays within its limit of memory while strangers try to fill it, and goes on answering the API server."""

import asyncio
import contextlib
import shutil
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from aiohttp import web

from hostile_callers import ATTACKS, DENSE, PLAIN, Callers, large_review
from integration.process import Served, serve
from integration.scripted import scripted, stream
from integration.serving import body, post, run, until
from snapshots import policy

_ROOT = Path(__file__).parents[2]
_DEPLOYMENT = _ROOT / "manifests" / "base" / "deployment.yaml"
_CONNECTIONS = 1_000
_WAITING = 64
_DENSE = 8
"""The number of reviews: parsing one takes a third of a second, and each is parsed twice."""
_MARGIN_MIB = 128
"""The memory of a cluster of thousands of nodes, beyond that of an empty one."""
_READS_NAMESPACE = policy("waits", "  mutations:\n  - annotations: {team: namespaceObject.metadata.name}")


async def _empty_cluster(request: web.Request) -> web.StreamResponse:
    """Answer as an API server of one Namespace, ``default``."""
    if "watch" in request.query:
        return await stream()(request)
    if request.path == "/apis":
        return web.json_response({"groups": []})
    items = [{"metadata": {"name": "default", "resourceVersion": "1"}}] if request.path.endswith("/namespaces") else []
    return web.json_response({"metadata": {"resourceVersion": "1"}, "items": items})


def limit_mib() -> int:
    """Return the container's limit of memory."""
    deployment = yaml.safe_load(_DEPLOYMENT.read_text())
    limit = deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
    assert limit.endswith("Gi")
    return int(limit.removesuffix("Gi")) * 1024


def peak_mib(served: Served) -> float:
    """Return the most memory that the process has held (proc_pid_status(5): VmHWM)."""
    lines = Path(f"/proc/{served.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


@asynccontextmanager
async def following(directory: Path) -> AsyncIterator[Served]:
    """Run podberth on an empty cluster, with the shipped policies and one that reads the Namespace."""
    policies = directory / "policies"
    policies.mkdir()
    (policies / "waits.yaml").write_text(_READS_NAMESPACE)
    shutil.copytree(_ROOT / "policies", policies / "shipped")  # links to folders are not followed
    async with scripted(directory, _empty_cluster) as cluster:
        more = ("--policies", str(policies), "--topology", "cluster", "--kubeconfig", str(cluster.kubeconfig))
        async with serve(directory, *more) as served:
            await until("it is ready", lambda: _ready(served))
            yield served


async def _ready(served: Served) -> bool:
    return (await served.probe("/readyz")).status == 200


@dataclass
class Good:
    """A client like the API server: it asks on a kept connection, and sometimes on a new one."""

    served: Served
    statuses: Counter[str] = field(default_factory=Counter)

    async def ask(self) -> None:
        """Ask without end."""
        request = post(body("good"), "/mutate?timeout=30s")
        async with self.served.connect() as kept:
            while True:
                self.statuses[f"kept {(await kept.ask(request)).status}"] += 1
                try:
                    async with self.served.connect() as new:
                        self.statuses[f"new {(await new.ask(request)).status}"] += 1
                except (OSError, asyncio.IncompleteReadError):
                    self.statuses["new none"] += 1
                await asyncio.sleep(0.05)


@asynccontextmanager
async def asking(served: Served) -> AsyncIterator[Good]:
    good = Good(served)
    task = asyncio.create_task(good.ask())
    try:
        yield good
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_a_thousand_hostile_connections_and_64_waiting_reviews_leave_it_within_its_limit(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path) as served, asking(served) as good:
            before = peak_mib(served)
            callers = Callers(served.host, served.port, served.client_context())
            share, rest = divmod(_CONNECTIONS, len(ATTACKS))
            counts = {attack: share + (index < rest) for index, attack in enumerate(ATTACKS)}
            dense, plain = (large_review("unknown", item) for item in (DENSE, PLAIN))
            bodies = [dense] * _DENSE + [plain] * (_WAITING - _DENSE)
            async with asyncio.TaskGroup() as group:
                group.create_task(callers.attack(counts))
                group.create_task(callers.ask(bodies, "/mutate?timeout=30s"))
            peak = peak_mib(served)
            figures = {"before": before, "peak": peak, "good": good.statuses, "large": callers.statuses}
            sys.stderr.write(f"{figures}\n")
            await callers.close()
            assert peak < limit_mib() - _MARGIN_MIB
            assert good.statuses["kept 200"] > 0
            assert {status for status in good.statuses if status.startswith("kept")} == {"kept 200"}
            assert good.statuses["new 200"] > good.statuses["new none"] + good.statuses["new 503"]
            await until("all is given back", lambda: _nothing_held(served))

    run(test)


async def _nothing_held(served: Served) -> bool:
    text = (await served.probe("/metrics")).content.decode()
    return all(f'podberth_callers_memory_bytes{{kind="{kind}"}} 0.0' in text for kind in ("bodies", "documents"))
