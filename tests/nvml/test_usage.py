"""The usage of GPUs, read through the library: what is reported, and that a failed call costs only its own value."""

import re
from pathlib import Path
from typing import Any

import pynvml
import pytest

from .driver import Driver, driving
from .scenario import Scenario, dgx_a100_cut
from .test_errors import CODES, GONE

GIB = 1 << 30
# By what each call costs: the field of a GPU, or of its first MIG device.
COSTS = {
    "nvmlDeviceGetUtilizationRates": "utilization",
    "nvmlDeviceGetMemoryInfo_v2": "memory_used_bytes",
    "nvmlDeviceGetMinorNumber": "minor",
}


def cut() -> Scenario:
    """Return two A100; the first is in MIG mode, the second is busy."""
    return dgx_a100_cut() | {
        "driver.unprivileged": 1,
        "gpu.0.utilization": 50,
        "gpu.0.instance.0.memory": "1024 19968",
        "gpu.0.instance.1.memory": "0 9856",
        "gpu.1.utilization": 100,
        "gpu.1.used": 30720,
        "gpu.1.minor": 7,
    }


def usage(driver: Driver) -> dict[str, Any]:
    found: dict[str, Any] = driver.ask("usage")["usage"]
    return found


def test_a_gpu_reports_its_utilization_memory_and_minor_number(tmp_path: Path) -> None:
    with driving(tmp_path, cut()) as driver:
        gpu = usage(driver)["gpus"][1]
    assert gpu == {
        "index": 1,
        "minor": 7,
        "address": "0000:11:00.0",
        "utilization": 1.0,
        "memory_used_bytes": 30 * GIB,
        "memory_total_bytes": 40 * GIB,
        "instances": [],
    }


def test_a_gpu_in_mig_mode_reports_the_memory_of_its_devices_only(tmp_path: Path) -> None:
    with driving(tmp_path, cut()) as driver:
        found = usage(driver)
    gpu = found["gpus"][0]
    assert (gpu["utilization"], gpu["memory_used_bytes"]) == (None, None)
    assert [(each["profile"], each["gpu_instance"]) for each in gpu["instances"]] == [
        ("3g.20gb", 1),
        ("2g.10gb", 2),
        ("1g.5gb", 9),
    ]
    assert [each["memory_used_bytes"] for each in gpu["instances"]] == [GIB, 0, None]
    assert gpu["instances"][0]["uuid"] == "MIG-00000000-0001-4000-8000-000000000000"
    assert found["unseen"] == [{"what": "memory in use", "why": "needs privilege", "gpus": [0]}]


def test_a_driver_without_the_later_call_counts_its_own_share(tmp_path: Path) -> None:
    old = {"fail.nvmlDeviceGetMemoryInfo_v2": pynvml.NVML_ERROR_FUNCTION_NOT_FOUND}
    with driving(tmp_path, cut() | old) as driver:
        gpu = usage(driver)["gpus"][1]
    assert gpu["memory_used_bytes"] == 30 * GIB + GIB // 2


def test_a_lost_gpu_does_nothing_that_is_known(tmp_path: Path) -> None:
    with driving(tmp_path, cut()) as driver:
        usage(driver)
        driver.change({"gpu.1.lost": 1})
        found = usage(driver)
    gpu = found["gpus"][1]
    assert (gpu["utilization"], gpu["memory_used_bytes"], gpu["memory_total_bytes"]) == (None, None, None)
    assert gpu["address"] == "0000:11:00.0"
    assert [each for each in found["unseen"] if 1 in each["gpus"]] == []


@pytest.mark.parametrize("code", [*CODES, 12345])
def test_a_call_that_fails_costs_its_own_answer_at_most(code: int, tmp_path: Path) -> None:
    with driving(tmp_path, cut()) as driver:
        whole = usage(driver)
        for name, field in COSTS.items():
            if name == "nvmlDeviceGetMemoryInfo_v2" and code in {
                pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
                pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
            }:
                continue  # an older driver: above
            driver.change({f"fail.{name}.1": code}, without=("fail.",))
            answer = driver.ask("usage")
            if code in GONE:
                assert re.match("NVIDIA: the driver", answer["error"])
                continue
            gpu = answer["usage"]["gpus"][1]
            assert gpu[field] is None, name
            lost = {field, "memory_total_bytes"} if field == "memory_used_bytes" else {field}
            assert {key: gpu[key] for key in gpu.keys() - lost} == {
                key: whole["gpus"][1][key] for key in gpu.keys() - lost
            }
            assert answer["usage"]["gpus"][0] == whole["gpus"][0]
        driver.change({}, without=("fail.",))
        assert usage(driver) == whole
