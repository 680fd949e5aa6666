"""What following a cluster costs: start, memory, and how long an answer lags behind an event, by number of nodes.

A control plane of its own holds simulated machines: for each a Node as a kubelet fills it (fifty images, 11 KiB), the
topology ConfigMap of its agent and the agent's Lease. Nothing else runs but etcd and the API server. An event is a node
that is cordoned or freed; its answer is the first review that is answered otherwise, asked every 5 ms.

    python -m bench.live [--nodes 100,1000,10000] [--events 100]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.access import grant
from e2e.following import Following, cpu_seconds
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL

from .figures import percentile, table

_SHAPES = ("hgx-h100-8", "hgx-b200-8", "dgx-a100-8-mig-mixed", "a100-pcie-4", "l4-4")
_IMAGES = [
    {"names": [f"registry.example/{'x' * 60}/{number}@sha256:{'0' * 64}"], "sizeBytes": 1} for number in range(50)
]
_READY = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
_PARALLEL = 8
_ASK_SECONDS = 0.005
_REST_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """What one size of cluster showed."""

    nodes: int
    start_seconds: float
    """From the process's start until it was ready."""
    listed_seconds: float
    """Of it, from the open port until everything was listed and indexed."""
    cpu_seconds: float
    """Of podberth, until it was ready: what a free core would take at least."""
    rss_mib: float
    peak_mib: float
    rest_percent: float
    """Of a core, while nothing happens in the cluster: a loop that never rests takes all of it."""
    lags_ms: Sequence[float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100,1000,10000")
    parser.add_argument("--events", type=int, default=100)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder, ControlPlane.start(Path(folder, "plane")) as plane:
        grant(plane)
        for name in ("nodes", "kube-scheduler", "kube-controller-manager"):
            plane.stop_component(name)
        made = 0
        for count in sorted(map(int, options.nodes.split(","))):
            _fill(plane, range(made, count))
            made = count
            with _started(plane, Path(folder, str(count))) as (following, seconds):
                rows.append(_measure(following, count, seconds, options.events))
    header = (
        "nodes",
        "start, s",
        "of it listing, s",
        "CPU, s",
        "RSS, MiB",
        "peak, MiB",
        "at rest, % of a core",
        "event to answer, ms: p50",
        "p99",
    )
    print(table(header, map(_cells, rows)))


def _cells(row: Row) -> tuple[str, ...]:
    lags = [percentile(row.lags_ms, share) for share in (50, 99)]
    figures = (
        row.start_seconds,
        row.listed_seconds,
        row.cpu_seconds,
        row.rss_mib,
        row.peak_mib,
        row.rest_percent,
        *lags,
    )
    return (str(row.nodes), *(f"{figure:.1f}" for figure in figures))


def _fill(plane: ControlPlane, numbers: range) -> None:
    """Create machines as their kubelets and agents would."""
    shapes = list(islice(cycle(_SHAPES), numbers.stop))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def create(number: int) -> None:
        name = f"node-{number:05}"
        node, config_map = simulate(shapes[number], name, placement={"rack": f"rack-{number // 16}"})
        node["status"] |= {"images": _IMAGES, "conditions": _READY}
        lease: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "labels": {TOPOLOGY_LABEL: "v1"}},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 3600, "renewTime": now},
        }
        plane.api.request("POST", "/api/v1/nodes", node)
        # Admission taints a new node, and the controller that would take that back does not run.
        taints = {"spec": {"taints": node["spec"]["taints"]}}
        plane.api.request("PATCH", f"/api/v1/nodes/{name}", taints, "application/merge-patch+json")
        plane.api.request("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", config_map)
        plane.api.request("POST", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases", lease)

    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(create, numbers))


@contextmanager
def _started(plane: ControlPlane, folder: Path) -> Iterator[tuple[Following, float]]:
    folder.mkdir()
    following = Following(plane, folder)
    began = time.monotonic()
    with following:
        yield following, time.monotonic() - began


def _measure(following: Following, count: int, start_seconds: float, events: int) -> Row:
    lines = wait_for(lambda: _started_lines(following), timeout_seconds=10, what="the log to be written")
    at = [datetime.fromisoformat(line["time"]) for line in lines]
    status = Path(f"/proc/{following.podberth.pid}/status").read_text()
    kib = {line.partition(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Vm")}
    used = cpu_seconds(following.podberth.pid)
    time.sleep(_REST_SECONDS)
    rest = (cpu_seconds(following.podberth.pid) - used) / _REST_SECONDS
    lags = [_lag_ms(following, cordoned=bool(number % 2)) for number in range(events)]
    return Row(
        nodes=count,
        start_seconds=start_seconds,
        listed_seconds=(at[1] - at[0]).total_seconds(),
        cpu_seconds=used,
        rss_mib=int(kib["VmRSS"]) / 1024,
        peak_mib=int(kib["VmHWM"]) / 1024,
        rest_percent=100 * rest,
        lags_ms=lags,
    )


def _started_lines(following: Following) -> list[dict[str, Any]]:
    """Return the lines of the open port and of the whole topology; none until both are there."""
    indexed = [line for line in following.lines("loaded") if line["what"] == ["topology"]]
    found = [*following.lines("serving"), *indexed]
    return found if len(found) > 1 else []


def _lag_ms(following: Following, *, cordoned: bool) -> float:
    """Change one node and return how long the answer stays as it was."""
    pod = gpu_pod(8)
    before = json.dumps(following.ask(pod))
    following.patch("node-00000", {"spec": {"unschedulable": not cordoned}})
    began = time.monotonic()
    while json.dumps(following.ask(pod)) == before:
        time.sleep(_ASK_SECONDS)
    return (time.monotonic() - began) * 1000


if __name__ == "__main__":
    main()
