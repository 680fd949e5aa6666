"""What the node agent costs: its node, the API server, and the time from a device's event to the ConfigMap.

One agent runs on the tests' driver, which plays eight H100, against a real API server. Then fleets of simulated
machines publish by the same code from one process; of the control plane only the API server and etcd run meanwhile, so
that only the cost of agents is counted. A fleet keeps its connections alive. 10,000 processes would open a new one for
each heartbeat (the API server closes idle connections after 90 s): their TLS handshakes are not in these figures.

    python -m bench.agent [--seconds 60] [--sizes 100 1000 10000]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import orjson

from controlplane.api import CONNECTION_ERRORS
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.agent.stage import Stage, prepared
from e2e.podberth_process import parse_metrics
from nvml.driver import Driver
from nvml.scenario import hgx_h100, write_sysfs
from podberth.agent.publisher import HEARTBEAT_SECONDS
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE

from .figures import table

_SHAPE = "hgx-h100-8"
_SIZES = (100, 1_000, 10_000)
_CLIENTS = {
    "no client": "sys",
    "urllib3": "podberth.agent.api",
    "aiohttp": "aiohttp",
    "kubernetes' asynchronous client": "kubernetes.aio.client",
}
# Goals of the issue.
_AGENT_MIB, _AGENT_PERCENT, _EVENT_SECONDS = 64.0, 0.2, 1.0
_RUNS, _EVENTS = 3, 5  # six writes are made at once, the first of them at the start
_PARALLEL = 8
# A fleet comes up in a heartbeat's time or as fast as two cores allow, and is then measured at rest.
_NODES_A_SECOND = 50.0
_SETTLING_SECONDS = 15.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What a fleet cost the API server each second while nothing happened."""

    size: int
    cpu: float
    """Of one core."""
    idle_cpu: float
    """The same before there were agents."""
    applies: Counter[str]
    """Writes by resource, in the whole window."""
    watched_bytes: float
    """A second, of one watcher of ConfigMaps and Leases."""
    seconds: float
    published: int
    wanted_seconds: float
    """Of an answer on average, the start included."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.agent")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(_SIZES))
    arguments = parser.parse_args()
    clients()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        with ControlPlane.start(directory / "control-plane") as control_plane:
            stage = prepared(control_plane, directory)
            one_agent(stage, directory, arguments.seconds)
            for name in ("nodes", "kube-scheduler", "kube-controller-manager"):
                control_plane.stop_component(name)
            fleets(stage, arguments.sizes, arguments.seconds)


def clients() -> None:
    """Measure what the agent's modules take in memory, alone and with each client that it could have."""
    rows = []
    for name, module in _CLIENTS.items():
        code = f"import podberth.cli.agent, pynvml, {module}; print(open('/proc/self/status').read())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        rows.append((name, f"{_resident(done.stdout):.0f}"))
    print(table(("after the imports, with", "MiB"), rows), end="\n\n", flush=True)


def one_agent(stage: Stage, directory: Path, seconds: float) -> None:
    """Measure a process: memory, processor time at rest, and how fast an event is in the cluster."""
    driver = Driver(directory / "driver", hgx_h100())
    write_sysfs(driver.sysfs, [])
    stage.add_node("bench")
    took: list[float] = []
    os.environ["PODBERTH_NVML_POLL_MS"] = "1000"  # a driver has interrupts; ours would be most of what is measured
    with stage.agent("bench", driver=driver) as agent:
        stage.settled("bench")
        before = cpu_seconds(agent.process.pid)
        version = _version(stage)
        time.sleep(seconds)
        percent = 100 * (cpu_seconds(agent.process.pid) - before) / seconds
        mib = resident_mib(agent.process.pid)
        written = _version(stage) != version
    del os.environ["PODBERTH_NVML_POLL_MS"]
    for _ in range(_RUNS):
        driver.change({}, without=("event.",))
        with stage.agent("bench", driver=driver):
            wait_for(lambda: _problems(stage) == [], timeout_seconds=30, what="the agent's first document")
            for number in range(_EVENTS):
                began = time.monotonic()
                driver.change({f"event.{number}": f"{number} 0x8 79"})
                wait_for(lambda number=number: number in _problems(stage), timeout_seconds=30, what="the fault")  # type: ignore[misc]
                took.append(time.monotonic() - began)
    rows = [
        ("resident memory, MiB", f"{mib:.1f}", f"{_AGENT_MIB:g} or less", _verdict(mib <= _AGENT_MIB)),
        (
            "CPU at rest, % of a core",
            f"{percent:.3f}",
            f"{_AGENT_PERCENT:g} or less",
            _verdict(percent <= _AGENT_PERCENT),
        ),
        ("ConfigMaps written at rest", str(int(written)), "0", _verdict(not written)),
        (
            "event to ConfigMap, s, median",
            f"{median(took):.2f}",
            f"{_EVENT_SECONDS:g} or less",
            _verdict(median(took) <= _EVENT_SECONDS),
        ),
        (f"the same, slowest of {len(took)}", f"{max(took):.2f}", "", ""),
    ]
    print(table(("one agent, 8 GPUs", "here", "goal", ""), rows), end="\n\n", flush=True)


def fleets(stage: Stage, sizes: Sequence[int], seconds: float) -> None:
    """Measure what fleets cost at rest, one after the other, each with the Nodes of the one before."""
    rows = []
    made = 0
    for size in sorted(sizes):
        _make_nodes(stage, made, size)
        made = size
        rest = _rest(stage, size, seconds)
        leases = rest.applies["leases"] / rest.seconds
        rows.append(
            (
                f"{rest.size:,}",
                f"{rest.published:,}",
                f"{rest.applies['configmaps']}",
                f"{leases:.1f}",
                f"{100 * rest.idle_cpu:.1f}",
                f"{100 * rest.cpu:.1f}",
                f"{rest.watched_bytes / 1024:.1f}",
                f"{1000 * rest.wanted_seconds:.1f}",
            )
        )
        print(f"{size:,} agents: done", file=sys.stderr, flush=True)
    header = (
        *("agents", "published", "ConfigMaps written", "Leases/s", "API server idle, % of a core"),
        *("with agents, %", "one watcher, KiB/s", "ms an answer"),
    )
    print(table(header, rows), flush=True)


def _rest(stage: Stage, size: int, seconds: float) -> Rest:
    pid = stage.control_plane.pids["kube-apiserver"]
    before = cpu_seconds(pid)
    time.sleep(min(20.0, seconds))
    idle = (cpu_seconds(pid) - before) / min(20.0, seconds)
    ramp = max(HEARTBEAT_SECONDS, size / _NODES_A_SECOND)
    length = ramp + 2 * _SETTLING_SECONDS + seconds
    token = stage.keep(stage.control_plane.admin_token)
    flags = [f"{_SHAPE}={size}", "--ramp", str(ramp), "--for", str(length), *stage.flags(token)]
    command = [sys.executable, "-m", "bench.fleet", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as fleet:
        time.sleep(ramp + _SETTLING_SECONDS)
        counted, cpu, began = applies(stage), cpu_seconds(pid), time.monotonic()
        with watching(stage, int(seconds) + 30) as seen:
            time.sleep(seconds)
            watched = sum(seen)
        cpu, took, written = cpu_seconds(pid) - cpu, time.monotonic() - began, applies(stage) - counted
        report = json.loads(fleet.communicate()[0])
    return Rest(
        size=size,
        cpu=cpu / took,
        idle_cpu=idle,
        applies=written,
        watched_bytes=watched / took,
        seconds=took,
        published=report["published"],
        wanted_seconds=report["secondsAnAnswer"],
    )


@contextmanager
def watching(stage: Stage, seconds: int) -> Iterator[list[int]]:
    """Watch ConfigMaps and Leases as the webhook does; the list grows by the size of each event."""
    seen: list[int] = []
    over = threading.Event()

    def watch(path: str) -> None:
        version = stage.api.read(f"{path}&limit=1")["metadata"]["resourceVersion"]
        with suppress(*CONNECTION_ERRORS):
            for event in stage.api.watch(f"{path}&watch=1&resourceVersion={version}", timeout_seconds=seconds):
                if over.is_set():
                    return
                seen.append(len(orjson.dumps(event)) + 1)

    selector = "labelSelector=podberth.io/topology%3Dv1"
    paths = (
        f"/api/v1/namespaces/{NAMESPACE}/configmaps?{selector}",
        f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases?{selector}",
    )
    threads = [threading.Thread(target=watch, args=(path,), daemon=True) for path in paths]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()


def applies(stage: Stage) -> Counter[str]:
    """Count what the API server was made to apply, by resource and by its own metrics."""
    found: Counter[str] = Counter()
    for name, value in parse_metrics(stage.control_plane.raw("GET", "/metrics")[1].decode()).items():
        if name.startswith("apiserver_request_total{") and 'verb="APPLY"' in name:
            found[name.partition('resource="')[2].partition('"')[0]] += int(value)
    return found


def cpu_seconds(pid: int) -> float:
    """Return the processor time used so far (proc_pid_stat(5): utime and stime)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def resident_mib(pid: int) -> float:
    """Return the memory it holds (proc_pid_status(5): VmRSS)."""
    return _resident(Path(f"/proc/{pid}/status").read_text())


def _resident(status: str) -> float:
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


def _make_nodes(stage: Stage, first: int, end: int) -> None:
    def make(number: int) -> None:
        manifest = simulate(_SHAPE, f"{_SHAPE}-{number}")[0]
        manifest["metadata"].pop("uid")
        stage.api.request("POST", "/api/v1/nodes", manifest)

    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(make, range(first, end)))


def _version(stage: Stage) -> str:
    return str((stage.config_map("bench") or {"metadata": {}})["metadata"].get("resourceVersion"))


def _problems(stage: Stage) -> list[int]:
    """Name the GPUs that have one; -1 where there is no document."""
    document = stage.document("bench")
    return [-1] if document is None else [gpu["index"] for gpu in document["gpus"] if "problem" in gpu]


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
