"""What the writes of live node labels cost the API server: processor time and bytes, a write.

Of the control plane only the API server and etcd run. Simulated machines get another value of the label
``podberth.io/free-linked-gpus`` each time, by the agent's own request, at a steady rate. By default the fastest rate is
that of a change a node and minute.

    python -m bench.free_labels [--seconds 20] [--nodes 10000] [--rates 50 100 167]
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from threading import Thread

import orjson

from controlplane.api import CONNECTION_ERRORS
from controlplane.cluster import ControlPlane
from e2e.agent.stage import Stage, prepared
from podberth.agent.api_requests import write_labels
from podberth.topology.shapes import simulate
from podberth.wellknown import FREE_LINKED_LABEL, LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL

from .agent import cpu_seconds
from .figures import table

_SHAPE = "hgx-h100-8"
_RATES = (50.0, 100.0, 167.0)
_PARALLEL = 8
_SETTLING_SECONDS = 3.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.free_labels")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--rates", type=float, nargs="*", default=list(_RATES), help="writes a second")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        with ControlPlane.start(directory / "control-plane") as control_plane:
            stage = prepared(control_plane, directory)
            for name in ("nodes", "kube-scheduler", "kube-controller-manager"):
                control_plane.stop_component(name)
            measure(stage, arguments.nodes, arguments.rates, arguments.seconds)


def measure(stage: Stage, nodes: int, rates: Sequence[float], seconds: float) -> None:
    """Write labels at each rate, and print the cost of a write."""
    uids = _nodes(stage, nodes)
    turns = itertools.cycle(itertools.product((4, 2, 1, 0, 8), uids))
    pid = stage.control_plane.pids["kube-apiserver"]
    time.sleep(_SETTLING_SECONDS)
    before = cpu_seconds(pid)
    time.sleep(seconds)
    idle = (cpu_seconds(pid) - before) / seconds
    rows = []
    for rate in sorted(rates):
        with watching(stage) as events:
            before, began = cpu_seconds(pid), time.monotonic()
            written = _write(stage, turns, uids, rate, seconds)
            took = time.monotonic() - began
            cpu = (cpu_seconds(pid) - before) / took
        milliseconds = 1000 * (cpu - idle) * took / written
        event_kib = sum(events) / max(len(events), 1) / 1024
        rows.append((f"{written / took:.0f}", f"{100 * cpu:.0f}", f"{milliseconds:.2f}", f"{event_kib:.1f}"))
    print(f"{nodes:,} Nodes; API server idle: {100 * idle:.1f} % of a core\n")
    header = ("writes/s", "API server, % of a core", "CPU of a write, ms", "a watcher, KiB a write")
    print(table(header, rows))


@contextmanager
def watching(stage: Stage) -> Iterator[list[int]]:
    """Watch all Nodes as a scheduler does; the list grows by the size of each event, in bytes of JSON."""
    seen: list[int] = []
    version = stage.api.read("/api/v1/nodes?limit=1")["metadata"]["resourceVersion"]
    going = True

    def watch() -> None:
        with suppress(*CONNECTION_ERRORS):
            path = f"/api/v1/nodes?watch=1&resourceVersion={version}"
            for event in stage.api.watch(path, timeout_seconds=600):
                if not going:
                    return
                seen.append(len(orjson.dumps(event)) + 1)

    Thread(target=watch, daemon=True).start()
    try:
        yield seen
    finally:
        going = False


def _nodes(stage: Stage, count: int) -> dict[str, str]:
    """Make the Nodes; return a mapping from each name to the uid."""

    def make(number: int) -> tuple[str, str]:
        manifest = simulate(_SHAPE, f"{_SHAPE}-{number}")[0]
        manifest["metadata"].pop("uid")
        made = stage.api.request("POST", "/api/v1/nodes", manifest)["metadata"]
        return made["name"], made["uid"]

    with ThreadPoolExecutor(_PARALLEL) as pool:
        return dict(pool.map(make, range(count)))


def _write(stage: Stage, turns: Iterator[tuple[int, str]], uids: dict[str, str], rate: float, seconds: float) -> int:
    """Write labels at a rate; return how many were written. A write that fails ends the measurement."""
    began = time.monotonic()

    def one(number: int, value: int, node: str) -> None:
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        labels = {LINK_SHAPE_LABEL: "full-mesh", LINK_DOMAIN_LABEL: "8", FREE_LINKED_LABEL: str(value)}
        request = write_labels("own", node, uids[node], labels)
        status, body = stage.api.raw(request.method, request.path, request.body, request.content_type)
        if status != HTTPStatus.OK:
            raise SystemExit(f"bench: {node}: status {status}: {body.decode()[:500]}")

    writes = int(rate * seconds)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(lambda number: one(number, *next(turns)), range(writes)))
    return writes


if __name__ == "__main__":
    main()
