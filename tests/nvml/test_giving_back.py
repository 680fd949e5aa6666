"""The agent gives the driver back at SIGTERM, so that the driver can be unloaded, and takes it again.

The library's device file stands for ``/dev/nvidiactl``: the kernel refuses to unload a module while a process has
its device open.
"""

import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from controlplane.wait import PATIENCE_SECONDS, wait_for

from .driver import Driver
from .scenario import Device, address, hgx_h100, write_sysfs
from .test_agent_command import printed, watching


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    """Return a driver whose device file notes who opens and closes it."""
    device_file(tmp_path).touch()
    made = Driver(tmp_path, hgx_h100() | {"driver.device": device_file(tmp_path)})
    write_sysfs(made.sysfs, [Device(address=address(index)) for index in range(8)])
    return made


def device_file(folder: Path) -> Path:
    """Return the file that stands for the driver's devices."""
    return folder / "nvidiactl"


def holders(device: Path) -> set[int]:
    """Return the processes that have the device open, as ``lsof`` finds them."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if entry.readlink() == device:
                found.add(int(entry.parts[2]))
    return found


def maps_library(process: subprocess.Popen[str]) -> bool:
    """Return whether a process has the driver's library loaded."""
    return "libnvidia-ml" in Path(f"/proc/{process.pid}/maps").read_text()


def test_it_ends_the_session_at_sigterm_while_it_waits_for_events(driver: Driver) -> None:
    device = device_file(driver.folder)
    with watching(driver, "--interval", "3600") as process:
        printed(process)
        assert holders(device) == {process.pid}
        assert maps_library(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert holders(device) == set()
    assert device.read_text().split() == ["opened", "closed"]  # by nvmlShutdown, and not by the kernel alone


def test_a_driver_that_goes_away_under_it_is_not_held_by_the_agent_that_waits_for_it(driver: Driver) -> None:
    device = device_file(driver.folder)
    with watching(driver, "--interval", "0.1") as process:
        printed(process)
        driver.change({"driver.loaded": 0})
        wait_for(lambda: holders(device) == set(), what="the session's end")
        assert process.poll() is None
        driver.change({"driver.loaded": 1, "driver.generation": 1, "gpu.1.ecc": 1})
        assert printed(process)["gpus"][1]["problem"] == "uncorrectable ECC errors"
        assert holders(device) == {process.pid}
    assert device.read_text().split() == ["opened", "closed"] * 2


def test_the_next_agent_reads_the_driver_that_took_its_place(driver: Driver) -> None:
    device = device_file(driver.folder)
    for generation, product in enumerate(("NVIDIA H100 80GB HBM3", "NVIDIA H200")):
        assert holders(device) == set()  # here the module is unloaded, and the next one loaded
        driver.change({"driver.generation": generation, "gpu.0.name": product})
        with watching(driver, "--interval", "3600") as process:
            assert printed(process)["gpus"][0]["product"] == product
    assert device.read_text().split() == ["opened", "closed"] * 2
