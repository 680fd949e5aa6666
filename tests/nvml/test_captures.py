"""The library answers as the real one of the same GPU did, call by call, and the agent makes the same document of it.

``python -m nvml.capture`` made the files in ``captures``; their names have the driver's version.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podberth.devices.mig_tables import TABLES

from .driver import driving, environment
from .scenario import Device, address, lone_h100, lone_h200, render, replace_file, write_sysfs
from .test_errors import FUNCTIONS

CAPTURES = Path(__file__).with_name("captures")
MACHINES = {"h100-580.159.04": lone_h100, "h200-580.159.04": lone_h200}
# Needs a GPU instance, and so MIG mode, which none of these GPUs was in.
NOT_CAPTURED = {"nvmlGpuInstanceGetInfo"}


def captured(name: str) -> dict[str, list[object]]:
    answers: dict[str, list[object]] = json.loads((CAPTURES / f"{name}.json").read_text(encoding="utf-8"))
    return answers


@pytest.mark.parametrize("name", MACHINES)
def test_every_call_is_answered_as_the_real_library_answered_it(name: str, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario"
    replace_file(scenario, render(MACHINES[name]()))
    command = [sys.executable, "-W", "error", "-m", "nvml.capture"]
    done = subprocess.run(command, env=environment(scenario), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == captured(name)


@pytest.mark.parametrize("name", MACHINES)
def test_every_function_was_asked(name: str) -> None:
    assert {call.partition(" ")[0] for call in captured(name)} >= set(FUNCTIONS) - NOT_CAPTURED


def test_every_capture_is_compared_and_names_no_single_gpu() -> None:
    assert {file.stem for file in CAPTURES.iterdir()} == MACHINES.keys()
    for name in MACHINES:
        assert "GPU-" not in str(captured(name))


@pytest.mark.parametrize("name", MACHINES)
def test_the_agent_makes_the_document_that_it_made_of_the_real_gpu(name: str, tmp_path: Path) -> None:
    [product], [memory] = captured(name)["nvmlDeviceGetName"][1:], captured(name)["nvmlDeviceGetMemoryInfo"][1:]
    offers = sorted((str(offer).removeprefix("MIG "), most, size) for offer, most, size in offered(name))
    with driving(tmp_path, MACHINES[name]()) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(0), driver="nvidia")])
        document = driver.read()
    [gpu] = document["gpus"]
    assert document == {
        "schemaVersion": "v1",
        "gpus": [gpu],
        "links": {"levels": [["X"]], "shape": "none"},
        "migProfiles": [
            {"max": most, "memoryMiB": size, "pciId": gpu["pciId"], "profile": profile}
            for profile, most, size in offers
        ],
    }
    assert gpu.keys() == {"index", "memoryMiB", "pciId", "pcieRoot", "product", "uuid"}
    assert (gpu["product"], gpu["memoryMiB"]) == (product, memory)


@pytest.mark.parametrize("name", MACHINES)
def test_the_table_of_mig_profiles_is_what_the_driver_offers(name: str) -> None:
    """Another driver may give an instance more memory, and the table has the least."""
    pci_id = str(captured(name)["nvmlDeviceGetPciInfo_v3"][1])[:4]
    [table] = [table for table in TABLES if pci_id in table.pci_ids]
    offers = {str(profile).removeprefix("MIG "): (most, memory) for profile, most, memory in offered(name)}
    assert {profile: row.max_instances for profile, row in table.rows.items()} == {
        profile: most for profile, (most, _) in offers.items()
    }
    assert all(0 < row.memory_mib <= offers[profile][1] for profile, row in table.rows.items())


def offered(name: str) -> list[list[Any]]:
    """Return the name, the number and the memory of each MIG profile of a captured GPU."""
    answers = [
        answer for call, answer in captured(name).items() if call.startswith("nvmlDeviceGetGpuInstanceProfileInfoV")
    ]
    return [answer[1:] for answer in answers if len(answer) > 1]
