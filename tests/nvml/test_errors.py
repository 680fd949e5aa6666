"""Every NVML error from every call: never a traceback, always a document that decodes, or one clear error."""

import re
from pathlib import Path

import pynvml
import pytest

from .driver import driving
from .scenario import Device, Scenario, address, dgx_a100_cut, write_sysfs

SOURCE = Path(__file__).with_name("libnvidia-ml.c").read_text(encoding="utf-8")
FUNCTIONS = sorted(
    set(re.findall(r"^nvmlReturn_t (nvml\w+)\(", SOURCE, re.MULTILINE)) - {"nvmlShutdown", "nvmlEventSetFree"}
)
CODES = sorted(code for name, code in vars(pynvml).items() if name.startswith("NVML_ERROR_") and isinstance(code, int))
OF_A_GPU = [
    name for name in FUNCTIONS if name.startswith("nvmlDeviceGet") and not name.endswith(("Index_v2", "Count_v2"))
]

# About what a GPU does, which is in no document (test_usage.py).
OF_USAGE = {"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMinorNumber"}
# Not asked in a second look: alternatives where the first choice is there, and events that are listened to already.
NOT_ASKED = OF_USAGE | {
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetRetiredPagesPendingStatus",
    "nvmlDeviceGetSupportedEventTypes",
}

# What no document can do without: the session, and how many there are.
ESSENTIAL = {"nvmlInitWithFlags", "nvmlDeviceGetCount_v2"}
GONE = {
    pynvml.NVML_ERROR_UNINITIALIZED,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
}


def everything() -> Scenario:
    """Return a machine on which the reader has every call to make."""
    made = dgx_a100_cut()
    made |= {"gpu.0.fabric.state": 3, "gpu.0.fabric.uuid": "11" * 16, "gpu.0.platform": "41 1 2 3"}
    made |= {"gpu.1.links": "0*4", "gpu.0.links": "1*4", "gpu.1.retired": 0}
    del made["gpu.1.remap"]
    return made


def test_the_list_of_codes_is_that_of_the_header() -> None:
    assert len(CODES) >= 31
    assert {pynvml.NVML_ERROR_UNKNOWN, pynvml.NVML_ERROR_RESET_TYPE_NOT_SUPPORTED} <= set(CODES)


@pytest.mark.parametrize("code", [*CODES, 12345])
def test_a_call_that_fails_costs_its_own_answer_at_most(code: int, tmp_path: Path) -> None:
    with driving(tmp_path, everything()) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(0), numa=0), Device(address=address(1), numa=1)])
        whole = driver.read()
        for name in FUNCTIONS:
            driver.change({f"fail.{name}": code}, without=("fail.",))
            answer = driver.ask("read")
            if "error" in answer:
                assert name in ESSENTIAL or code in GONE, (name, answer)
                assert answer["error"].startswith("NVIDIA: ")
        driver.change({}, without=("fail.",))
        driver.wait(0.05)
        assert driver.read() == whole


def test_what_could_not_be_read_is_said(tmp_path: Path) -> None:
    """Of every call about a GPU: an odd error is noted with what it cost, and the other GPU is as it was."""
    with driving(tmp_path, everything()) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(0), numa=0), Device(address=address(1), numa=1)])
        whole = driver.read()
        for name in OF_A_GPU:
            driver.change({f"fail.{name}.0": pynvml.NVML_ERROR_IN_USE}, without=("fail.",))
            document = driver.read()
            if name in NOT_ASKED:
                assert document == whole, name
                continue
            notes = document["unseen"]
            assert [row["why"] for row in notes] == ["NVML: in use"] * len(notes), name
            assert all(0 in row["gpus"] for row in notes), name
            assert document["gpus"][1] == whole["gpus"][1], name


def test_a_gpu_whose_call_says_that_it_is_lost_has_that_problem(tmp_path: Path) -> None:
    of_two = {"nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetP2PStatus"}
    with driving(tmp_path, everything()) as driver:
        driver.read()
        for name in OF_A_GPU:
            driver.change({f"fail.{name}.0": pynvml.NVML_ERROR_GPU_IS_LOST}, without=("fail.",))
            problem = driver.read()["gpus"][0].get("problem", "")
            assert problem == ("" if name in NOT_ASKED | of_two else "gpu is lost"), name
            driver.change({}, without=("fail.",))
            assert "problem" not in driver.read()["gpus"][0], name
