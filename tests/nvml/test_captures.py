"""The library answers as the real one of the same GPU did, call by call, and the agent makes the same document of it.

``python -m nvml.capture`` made the files in ``captures``; their names have the driver's version.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .driver import driving, environment
from .scenario import Device, address, lone_h100, render, replace_file, write_sysfs
from .test_errors import FUNCTIONS

CAPTURES = Path(__file__).with_name("captures")
MACHINES = {"h100-580.159.04": lone_h100}
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


def test_the_agent_makes_the_document_that_it_made_of_the_real_gpu(tmp_path: Path) -> None:
    profiles = {
        "1g.10gb": (7, 9984),
        "1g.10gb+me": (1, 9984),
        "1g.20gb": (4, 20096),
        "2g.20gb": (3, 20096),
        "3g.40gb": (2, 40448),
        "4g.40gb": (1, 40448),
        "7g.80gb": (1, 81152),
    }
    with driving(tmp_path, lone_h100()) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(0), driver="nvidia")])
        document = driver.read()
    gpu = document["gpus"][0]
    assert document == {
        "schemaVersion": "v1",
        "gpus": [
            {
                "index": 0,
                "memoryMiB": 81559,
                "pciId": "2330",
                "pcieRoot": gpu["pcieRoot"],
                "product": "NVIDIA H100 80GB HBM3",
                "uuid": gpu["uuid"],
            }
        ],
        "links": {"levels": [["X"]], "shape": "none"},
        "migProfiles": [
            {"max": most, "memoryMiB": memory, "pciId": "2330", "profile": profile}
            for profile, (most, memory) in profiles.items()
        ],
    }
