"""``podberth agent`` as a process, with our library where the driver's would be, and without any."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controlplane.wait import PATIENCE_SECONDS
from podberth.topology.codec import DATA_KEY, decode_topology
from podberth.topology.shapes import SHAPES, simulate

from .driver import Driver, environment
from .scenario import Device, address, hgx_h100, write_sysfs

AGENT = (sys.executable, "-W", "error", "-m", "podberth", "agent", "--print")


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    made = Driver(tmp_path, hgx_h100())
    write_sysfs(made.sysfs, [Device(address=address(index), numa=index // 4) for index in range(8)])
    return made


def run(*flags: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*AGENT, *flags], env=environ, capture_output=True, text=True, check=False)


def without_driver(tmp_path: Path) -> dict[str, str]:
    return {**environment(tmp_path / "none"), "LD_LIBRARY_PATH": str(tmp_path)}


@contextmanager
def watching(driver: Driver, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """Run the agent until the block ends, then stop it as a kubelet does."""
    command = [*AGENT, "--node", "gpu-1", "--sysfs", str(driver.sysfs), *flags]
    with subprocess.Popen(
        command, env=environment(driver.file), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


def printed(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the document of the next line."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.stderr.read() if process.stderr else ""
    document: dict[str, Any] = json.loads(json.loads(line)["data"][DATA_KEY])
    return document


def test_once_prints_the_config_map_as_it_would_be_published(driver: Driver) -> None:
    flags = ("--once", "--node", "gpu-1", "--sysfs", str(driver.sysfs))
    done = run(*flags, environ=environment(driver.file))
    assert (done.returncode, done.stderr) == (0, "")
    config_map = json.loads(done.stdout)
    assert config_map["metadata"]["name"] == "gpu-1"
    topology = decode_topology(config_map)
    assert (topology.links.shape, len(topology.gpus), topology.unseen) == ("full-mesh", 8, ())
    assert topology.observed.endswith("Z")


def test_a_snapshot_with_it_is_one_that_check_reads(driver: Driver, tmp_path: Path) -> None:
    done = run("--once", "--node", "gpu-1", "--sysfs", str(driver.sysfs), environ=environment(driver.file))
    node = simulate("hgx-h100-8", "gpu-1")[0]
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, json.loads(done.stdout)]}))
    pod = Path(__file__).parents[2] / "examples" / "cuda-pod.yaml"
    checked = subprocess.run(
        [sys.executable, "-m", "podberth", "check", "--topology", str(snapshot), "-o", "json", str(pod)],
        env=environment(driver.file),
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0
    assert "ConfigMap" not in checked.stderr  # else it is said what is wrong with it


def test_it_prints_again_only_when_something_changed(driver: Driver) -> None:
    with watching(driver, "--interval", "0.1") as process:
        assert "problem" not in printed(process)["gpus"][2]
        driver.change({"gpu.0.ecc": 0, "unheard.of": 1})  # the same machine
        driver.change({"gpu.2.remap": "0 1"})
        assert printed(process)["gpus"][2]["problem"] == "row remapping failed"
        driver.change({"gpu.2.remap": "0 0"})
        assert "problem" not in printed(process)["gpus"][2]


def test_an_event_is_printed_long_before_the_next_look(driver: Driver) -> None:
    with watching(driver, "--interval", "3600") as process:
        assert "problem" not in printed(process)["gpus"][7]
        driver.change({"event.0": "7 0x8 79"})
        assert printed(process)["gpus"][7]["problem"] == "XID 79"


def test_a_driver_that_goes_away_is_waited_for(driver: Driver) -> None:
    with watching(driver, "--interval", "0.1") as process:
        printed(process)
        driver.change({"driver.loaded": 0})
        assert process.stderr is not None
        assert process.stderr.readline() == (
            "podberth: NVIDIA: the driver is not loaded, or /dev/nvidiactl is not here; load the kernel module nvidia, "
            "or run the container with the nvidia runtime\n"
        )
        driver.change({"driver.loaded": 1, "driver.generation": 1, "gpu.1.ecc": 1})
        assert printed(process)["gpus"][1]["problem"] == "uncorrectable ECC errors"


def test_a_reader_that_has_enough_is_no_fault(driver: Driver) -> None:
    with watching(driver, "--interval", "0.1") as process:
        printed(process)
        assert process.stdout is not None
        process.stdout.close()
        driver.change({"gpu.1.ecc": 1})
        assert process.wait(PATIENCE_SECONDS) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_driver_of_another_version_ends_it(driver: Driver) -> None:
    with watching(driver, "--interval", "0.1") as process:
        printed(process)
        driver.change({"driver.generation": 1, "fail.nvmlInitWithFlags": 18})
        assert process.wait(PATIENCE_SECONDS) == 3
        assert process.stderr is not None
        assert "start this process again" in process.stderr.read()


def test_without_a_driver_it_ends_with_3_and_says_what_is_missing(tmp_path: Path) -> None:
    done = run("--once", "--sysfs", str(tmp_path), environ=without_driver(tmp_path))
    assert (done.returncode, done.stdout) == (3, "")
    assert "NVIDIA: found no libnvidia-ml.so.1; install the driver" in done.stderr
    assert "AMD: no " in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [(9, "the driver is not loaded"), (18, "another version"), (4, "/dev/nvidiactl"), (999, "the device cgroup")],
)
def test_a_driver_that_cannot_be_opened_is_said(driver: Driver, code: int, said: str) -> None:
    driver.change({"fail.nvmlInitWithFlags": code})
    done = run("--once", "--vendor", "nvidia", environ=environment(driver.file))
    assert done.returncode == 3
    assert said in done.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("raise ModuleNotFoundError(\"No module named 'pynvml'\", name='pynvml')\n")
    environ = without_driver(tmp_path)
    environ["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environ["PYTHONPATH"]])
    done = run("--once", "--vendor", "nvidia", environ=environ)
    assert done.returncode == 3
    assert "NVIDIA: got No module named 'pynvml', want podberth's extra agent; do: pip" in done.stderr


@pytest.mark.parametrize("shape", SHAPES)
def test_a_simulated_machine_needs_no_driver(shape: str, tmp_path: Path) -> None:
    done = run("--simulate", shape, "--node", "n", environ=without_driver(tmp_path))
    assert done.returncode == 0
    assert json.loads(done.stdout) == simulate(shape, "n")[1]


@pytest.mark.parametrize(
    "flags", [("--interval", "0"), ("--interval", "soon"), ("--simulate", "cray"), ("--vendor", "acme")]
)
def test_wrong_flags_end_with_2(flags: tuple[str, str], tmp_path: Path) -> None:
    assert run(*flags, environ=without_driver(tmp_path)).returncode == 2
