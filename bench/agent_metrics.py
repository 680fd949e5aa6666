"""What metrics cost the node agent: memory without, with them, and with the kubelet asked; the time of a scrape.

The agent is a process on the tests' driver with eight GPUs, all of them held; the kubelet is the tests' Go service.

    python -m bench.agent_metrics [--scrapes 200]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from controlplane.wait import wait_for
from gotools.build import program
from gotools.kubelet_socket import kubelet_socket, pod
from nvml.driver import Driver, environment
from nvml.scenario import Device, address, hgx_h100, write_sysfs
from nvml.scraping import agent

from .figures import table

_GPUS = 8


def main() -> None:
    """Print a row for each way to run the agent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scrapes", type=int, default=200)
    scrapes = parser.parse_args().scrapes
    rows = []
    for name in ("without", "--metrics-listen", "--pod-resources too"):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            rows.append([name, *_measured(stack, Path(folder), name, scrapes)])
    print(table(["agent", "RSS", "anonymous", "scrape, p50"], rows))


def _measured(stack: ExitStack, folder: Path, name: str, scrapes: int) -> tuple[str, str, str]:
    driver = Driver(folder / "driver", hgx_h100() | {f"gpu.{index}.utilization": 50 for index in range(_GPUS)})
    write_sysfs(driver.sysfs, [Device(address=address(index)) for index in range(_GPUS)])
    kubelet = stack.enter_context(kubelet_socket(program("kubelet"), folder))
    held = [f"GPU-{index:08d}-0000-4000-8000-000000000000" for index in range(_GPUS)]
    kubelet.answer({"podResources": [pod("train-0", ("nvidia.com/gpu", held))]})
    flags = ["--pod-resources", str(kubelet.path)] if name == "--pod-resources too" else []
    if name == "without":
        return *_memory(stack.enter_context(_printing(driver)).pid), ""
    running = stack.enter_context(agent(driver, *flags))
    wait_for(lambda: running.by_gpu("podberth_gpu_info"), timeout_seconds=20, what="the first look")
    times = []
    for _ in range(scrapes):
        started = time.perf_counter()
        running.get("/metrics")
        times.append(time.perf_counter() - started)
    return *_memory(running.process.pid), f"{median(times) * 1000:.1f} ms"


@contextmanager
def _printing(driver: Driver) -> Iterator[subprocess.Popen[str]]:
    """Run the agent without metrics, past its first document."""
    command = [sys.executable, "-m", "podberth", "agent", "--print", "--sysfs", str(driver.sysfs)]
    with subprocess.Popen(command, env=environment(driver.file), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - stdout=PIPE above
        process.stdout.readline()
        yield process
        process.terminate()


def _memory(process: int) -> tuple[str, str]:
    """Return the memory it holds, and what of it is no file's (proc_pid_status(5): VmRSS, RssAnon)."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return f"{sizes['VmRSS'] / 1024:.1f} MB", f"{sizes['RssAnon'] / 1024:.1f} MB"


if __name__ == "__main__":
    main()
