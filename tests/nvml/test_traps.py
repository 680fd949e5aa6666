"""The traps of NVML and of its Python wrappers, one by one, through a real library."""

import ctypes
from pathlib import Path
from time import monotonic
from typing import Any

import pynvml
import pytest

from .driver import driving
from .scenario import Device, Scenario, address, dgx_a100_cut, gpu, hgx_h100, matrix, of_matrix, write_sysfs

ZERO_UUID = "00000000-0000-0000-0000-000000000000"
# An event is reported at once; the bound is for a CI machine under load.
SECONDS = 60.0
CLUSTER = "c0ffee00-1234-4678-9abc-def012345678"


def unseen(document: dict[str, Any]) -> dict[str, str]:
    return {row["what"]: row["why"] for row in document.get("unseen", [])}


def problems(document: dict[str, Any]) -> list[str]:
    return [each.get("problem", "") for each in document["gpus"]]


def read(folder: Path, scenario: Scenario) -> dict[str, Any]:
    with driving(folder, scenario) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(index)) for index in range(8)])
        return driver.read()


def pair_of_b200(**fabric: object) -> Scenario:
    made = of_matrix(matrix("gb200-tray"), name="NVIDIA GB200", pciid="2941", memory=189471)
    for index in range(4):
        made |= {f"gpu.{index}.fabric.state": 3, f"gpu.{index}.fabric.uuid": CLUSTER.replace("-", "")}
        made |= {f"gpu.{index}.fabric.{key}": value for key, value in fabric.items()}
    return made


# ---- peer-to-peer ---------------------------------------------------------------------------------------------------


def test_the_wrapper_has_a_tuple_for_an_index_which_is_why_ours_is_a_number() -> None:
    assert pynvml.NVML_P2P_CAPS_INDEX_READ == (0,)


def test_links_that_the_driver_does_not_let_through_are_none(tmp_path: Path) -> None:
    """NVSwitches without a fabric manager: every link is up and no GPU reaches another."""
    pairs = {f"pair.{one}.{other}.p2p.2": 5 for one in range(8) for other in range(one + 1, 8)}
    document = read(tmp_path, hgx_h100() | pairs)
    assert document["links"]["shape"] == "none"
    assert {cell for row in document["links"]["levels"] for cell in row} == {"X", "SYS"}


def test_only_the_nvlink_index_counts(tmp_path: Path) -> None:
    others = {f"pair.0.1.p2p.{index}": 5 for index in (0, 1, 3, 4)}
    assert read(tmp_path, hgx_h100() | others)["links"]["shape"] == "full-mesh"


# ---- the rack and the fabric ----------------------------------------------------------------------------------------


def test_the_wrapper_breaks_on_the_bytes_of_the_platform() -> None:
    info = pynvml.c_nvmlPlatformInfo_v2_t()
    ctypes.memset(ctypes.byref(info, type(info).chassisSerialNumber.offset), 0xFF, 16)
    with pytest.raises(UnicodeDecodeError):
        _ = info.chassisSerialNumber


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("chassis", "text"),
    [
        (b"1820325190012".ljust(16, b"\0"), "1820325190012"),
        (b"\xff\0\x80A" + bytes(12), "ff008041" + "00" * 12),
    ],
)
def test_the_place_in_the_rack_is_read_as_bytes(tmp_path: Path, version: int, chassis: bytes, text: str) -> None:
    made = gpu(0) | {"gpu.0.platform": f"{chassis.hex()} 200 0 9", "platform.version": version}
    assert read(tmp_path, made)["platform"] == {"chassis": text, "slot": 200, "tray": 0, "host": 9}


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_fabric_is_read_by_what_the_driver_knows(tmp_path: Path, version: int) -> None:
    cliques = "1:99 0:7 0:8" if version == 4 else "0:0"
    document = read(tmp_path, pair_of_b200(clique=7, cliques=cliques) | {"fabric.version": version})
    assert document["fabric"] == {"clusterUuid": CLUSTER, "clique": 7}
    assert "unseen" not in document


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_fabric_that_reaches_no_other_machine_is_none(tmp_path: Path, version: int) -> None:
    document = read(tmp_path, pair_of_b200(uuid="00" * 16) | {"fabric.version": version})
    assert "fabric" not in document
    assert ZERO_UUID not in str(document)


@pytest.mark.parametrize(
    ("fabric", "why"),
    [
        ({"state": 1}, "registration has not started"),
        ({"state": 2}, "registration is in progress"),
        ({"status": 999}, "registration ended with NVML error 999"),
    ],
)
def test_a_fabric_that_is_not_there_yet_is_said(tmp_path: Path, fabric: dict[str, object], why: str) -> None:
    document = read(tmp_path, pair_of_b200(**fabric))
    assert "fabric" not in document
    assert unseen(document) == {"NVLink fabric": why}


def test_gpus_of_several_cliques_have_no_common_one(tmp_path: Path) -> None:
    document = read(tmp_path, pair_of_b200(cliques="0:1") | {"gpu.3.fabric.cliques": "0:2"})
    assert "fabric" not in document
    assert unseen(document) == {"NVLink fabric": "GPUs in 2 cliques"}


@pytest.mark.parametrize(
    ("version", "problem"), [(4, "unhealthy NVLink fabric"), (3, "unhealthy NVLink fabric"), (2, "")]
)
def test_the_health_of_the_fabric_is_known_from_version_3_on(tmp_path: Path, version: int, problem: str) -> None:
    document = read(tmp_path, pair_of_b200(health=2) | {"fabric.version": version})
    assert problems(document) == [problem] * 4


# ---- NUMA -----------------------------------------------------------------------------------------------------------


def test_numa_comes_from_sysfs_and_minus_one_is_unknown(tmp_path: Path) -> None:
    with driving(tmp_path, gpu(0) | gpu(1) | gpu(2)) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(0), numa=3), Device(address=address(1))])
        document = driver.read()
    assert [each.get("numaNode") for each in document["gpus"]] == [3, None, None]
    assert [each.get("pcieRoot") for each in document["gpus"]] == ["pci0000:10", "pci0000:11", None]
    assert document["unseen"] == [{"what": "NUMA node", "why": "the GPU is not in sysfs", "gpus": [2]}]


# ---- GPUs that NVML does not list -----------------------------------------------------------------------------------


def test_gpus_whose_device_files_are_not_here_are_said_to_be_unseen(tmp_path: Path) -> None:
    """NVML lists the GPUs that the process can open, and counts no other; a virtual function is no GPU of its own."""
    with driving(tmp_path, of_matrix(matrix("h100-sxm-4"))) as driver:
        gpus = [Device(address=address(index), numa=0, driver="nvidia") for index in range(6)]
        write_sysfs(driver.sysfs, [*gpus, Device(address=address(6), driver="nvidia", files={"physfn/uevent": ""})])
        document = driver.read()
    assert len(document["gpus"]) == 4
    assert document["links"]["shape"] == "islands"
    assert document["unseen"] == [{"what": "GPUs", "why": "NVML lists 4 of 6 GPUs; each needs its file /dev/nvidiaN"}]


def test_without_one_gpu_of_several_the_shape_of_a_single_one_is_unknown(tmp_path: Path) -> None:
    with driving(tmp_path, gpu(0)) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(index), driver="nvidia") for index in range(2)])
        assert driver.read()["links"]["shape"] == "unknown"


def test_a_driver_whose_gpus_are_all_hidden_is_an_error(tmp_path: Path) -> None:
    with driving(tmp_path, {"driver.generation": 0}) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(index), driver="nvidia") for index in range(2)])
        assert driver.fail() == {
            "error": "NVIDIA: NVML lists 0 of 2 GPUs; each needs its file /dev/nvidiaN",
            "lasting": False,
        }


# ---- privilege and MIG ----------------------------------------------------------------------------------------------

CUT = [
    {"gpu": 0, "profile": "2g.10gb", "start": 0, "size": 2},
    {"gpu": 0, "profile": "1g.5gb", "start": 2, "size": 1},
    {"gpu": 0, "profile": "3g.20gb", "start": 4, "size": 4},
]


def test_mig_offers_and_instances(tmp_path: Path) -> None:
    document = read(tmp_path, dgx_a100_cut())
    assert document["migInstances"] == CUT
    assert document["migProfiles"] == [
        {"profile": "1g.5gb", "pciId": "20B0", "max": 7, "memoryMiB": 4864},
        {"profile": "1g.5gb+me", "pciId": "20B0", "max": 1, "memoryMiB": 4864},
        {"profile": "2g.10gb", "pciId": "20B0", "max": 3, "memoryMiB": 9856},
        {"profile": "3g.20gb", "pciId": "20B0", "max": 2, "memoryMiB": 19968},
    ]
    assert "unseen" not in document
    assert document["links"] == {"shape": "none", "levels": [["X", "PXB"], ["PXB", "X"]]}


def test_without_privilege_placements_and_memory_are_unknown_and_said_to_be(tmp_path: Path) -> None:
    denied = {"fail.nvmlDeviceGetGpuInstanceById": 4, "fail.nvmlDeviceGetMemoryInfo.0": 4}
    document = read(tmp_path, dgx_a100_cut() | denied)
    assert sorted(each["profile"] for each in document["migInstances"]) == ["1g.5gb", "2g.10gb", "3g.20gb"]
    assert all(each.keys() == {"gpu", "profile"} for each in document["migInstances"])
    assert "memoryMiB" not in document["gpus"][0]
    assert document["gpus"][1]["memoryMiB"] == 40960
    assert document["unseen"] == [
        {"what": "MIG placements", "why": "needs privilege", "gpus": [0]},
        {"what": "memory", "why": "needs privilege", "gpus": [0]},
    ]


def test_compute_instances_of_one_gpu_instance_are_one(tmp_path: Path) -> None:
    made = dgx_a100_cut(["1 1c.3g.20gb 4 4", "1 2c.3g.20gb 4 4"])
    assert read(tmp_path, made)["migInstances"] == [{"gpu": 0, "profile": "3g.20gb", "start": 4, "size": 4}]


def test_the_order_of_creation_does_not_change_the_document(tmp_path: Path) -> None:
    one, other = ["1 3g.20gb 4 4", "2 1g.5gb 0 1", "3 1g.5gb 1 1"], ["7 1g.5gb 1 1", "1 3g.20gb 4 4", "8 1g.5gb 0 1"]
    assert read(tmp_path / "one", dgx_a100_cut(one)) == read(tmp_path / "other", dgx_a100_cut(other))


def test_a_gpu_that_waits_for_a_reset_says_so(tmp_path: Path) -> None:
    document = read(tmp_path, dgx_a100_cut([]) | {"gpu.0.mig": "0 1", "gpu.1.mig": "1 0"})
    assert [(each.get("mig"), each.get("migPending")) for each in document["gpus"]] == [(None, True), (True, None)]


def test_a_reconfiguration_under_way_is_not_published_by_halves(tmp_path: Path) -> None:
    document = read(tmp_path, dgx_a100_cut() | {"gpu.0.restless": 1})
    assert "migInstances" not in document
    assert document["unseen"] == [{"what": "MIG devices", "why": "reconfiguration is under way", "gpus": [0]}]


def test_a_mig_change_is_seen_by_the_next_look(tmp_path: Path) -> None:
    with driving(tmp_path, dgx_a100_cut()) as driver:
        assert driver.read()["migInstances"] == CUT
        driver.change({"gpu.0.instance.0": "3 1g.5gb 6 1"}, without=("gpu.0.instance.",))
        assert driver.read()["migInstances"] == [{"gpu": 0, "profile": "1g.5gb", "start": 6, "size": 1}]
        driver.change({"gpu.0.mig": "0 0"}, without=("gpu.0.instance.",))
        assert "migInstances" not in driver.read()


# ---- health ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"recovery": 1}, "recovery action: reset the GPU"),
        ({"recovery": 5}, "recovery action: recover the IMEX domain"),
        ({"recovery": 77}, "recovery action: unknown"),
        ({"remap": "1 0"}, "row remapping waits for a reset"),
        ({"remap": "0 1"}, "row remapping failed"),
        ({"ecc": 3}, "uncorrectable ECC errors"),
        ({"unrepairable": 1}, "unrepairable memory"),
        (
            {"unrepairable": 1, "remap": "1 0", "recovery": 1},
            "recovery action: reset the GPU; unrepairable memory; row remapping waits for a reset",
        ),
    ],
)
def test_what_a_gpu_says_about_its_health_is_its_problem(tmp_path: Path, state: dict[str, Any], problem: str) -> None:
    document = read(tmp_path, gpu(0) | gpu(1) | {f"gpu.1.{key}": value for key, value in state.items()})
    assert problems(document) == ["", problem]


def test_a_recovery_action_that_the_driver_does_not_know_is_said_to_be_new(tmp_path: Path) -> None:
    document = read(tmp_path, gpu(0) | {"driver.fields": 200})
    assert unseen(document) == {"recovery action": "the driver is too old for it"}


def test_a_name_that_is_no_text_is_said(tmp_path: Path) -> None:
    document = read(tmp_path, gpu(0) | {"gpu.0.name": "NVIDIA \udcff"})
    assert "product" not in document["gpus"][0]
    assert unseen(document) == {"product": "is not UTF-8"}


def test_an_older_gpu_retires_pages(tmp_path: Path) -> None:
    made = gpu(0) | {"gpu.0.retired": 1}
    del made["gpu.0.remap"]
    assert problems(read(tmp_path, made)) == ["row remapping waits for a reset"]


def test_the_wrapper_never_sees_unrepairable_memory() -> None:
    """It passes a structure with a version in front, which nvml.h does not have."""
    assert [name for name, _ in pynvml.c_nvmlUnrepairableMemory_v1_t._fields_] == ["version", "unrepairableMemory"]


def test_a_lost_gpu_is_still_named_and_the_others_are_read(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        write_sysfs(driver.sysfs, [Device(address=address(index), numa=0) for index in range(8)])
        before = driver.read()
        driver.change({"gpu.3.lost": 1})
        after = driver.read()
    assert after["gpus"] == [
        {**each, "problem": "gpu is lost"} if each["index"] == 3 else each for each in before["gpus"]
    ]
    assert after["links"]["shape"] == "islands"
    assert after["links"]["domains"] == [[0, 1, 2, 4, 5, 6, 7]]
    assert "unseen" not in after


def test_a_gpu_lost_before_the_agent_started_is_an_index_with_a_problem(tmp_path: Path) -> None:
    document = read(tmp_path, gpu(0) | gpu(1) | {"gpu.1.lost": 1})
    assert document["gpus"][1] == {"index": 1, "problem": "gpu is lost"}
    assert document["links"]["shape"] == "unknown"


# ---- events ---------------------------------------------------------------------------------------------------------


def test_an_xid_ends_the_wait_and_stays_until_the_driver_restarts(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        assert problems(driver.read()) == [""] * 8
        assert not driver.wait(0.1)
        driver.change({"event.0": "2 0x8 79", "event.1": "2 0x8 48"})
        assert driver.wait(SECONDS)
        assert problems(driver.read())[2] == "XID 48, 79"
        assert problems(driver.read())[2] == "XID 48, 79"
        driver.change({"driver.generation": 1})
        assert problems(driver.read()) == [""] * 8


def test_an_xid_of_a_program_is_no_problem_of_the_gpu(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        driver.read()
        driver.change({f"event.{n}": f"0 0x8 {xid}" for n, xid in enumerate((13, 31, 43, 45, 68, 109))})
        assert not driver.wait(0.5)
        assert problems(driver.read()) == [""] * 8


def test_a_burst_of_events_is_reported_once(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        driver.read()
        driver.change({f"event.{number}": f"0 0x8 {100 + number % 40}" for number in range(200)})
        assert driver.wait(SECONDS)
        assert not driver.wait(0.1)
        assert problems(driver.read())[0] == "XID " + ", ".join(
            str(100 + number) for number in range(17) if number != 9
        )


@pytest.mark.parametrize("kind", ["0x2", "0x4000", "0x8000"])
def test_other_events_end_the_wait_too(tmp_path: Path, kind: str) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        driver.read()
        driver.change({"event.0": f"1 {kind} 0", "gpu.1.recovery": 1})
        assert driver.wait(SECONDS)
        assert problems(driver.read())[1] == "recovery action: reset the GPU"


def test_a_loss_ends_the_wait_and_does_not_become_a_loop(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        driver.read()
        driver.change({"gpu.5.lost": 1})
        assert driver.wait(SECONDS)
        assert problems(driver.read())[5] == "gpu is lost"
        assert not driver.wait(0.2)  # the others are listened to, without it
        driver.change({"event.0": "1 0x8 79"})
        assert driver.wait(SECONDS)


def test_a_gpu_that_comes_back_is_listened_to_again(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100() | {"gpu.5.lost": 1}) as driver:
        assert problems(driver.read())[5] == "gpu is lost"
        driver.change({"gpu.5.lost": 0})
        assert problems(driver.read()) == [""] * 8
        driver.change({"event.0": "5 0x8 79"})
        assert driver.wait(SECONDS)
        assert problems(driver.read())[5] == "XID 79"


def test_an_end_of_events_is_reported_at_once_and_then_ever_later(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        driver.read()
        driver.change({"fail.nvmlEventSetWait_v2": 999})
        assert driver.wait(3600)  # and the hour is not waited for
        driver.read()
        started = monotonic()
        assert driver.wait(60)
        assert monotonic() - started >= 1


def test_gpus_without_events_are_said_to_be(tmp_path: Path) -> None:
    document = read(tmp_path, gpu(0) | gpu(1) | {"fail.nvmlDeviceRegisterEvents.1": 4})
    assert document["unseen"] == [{"what": "events", "why": "needs privilege", "gpus": [1]}]


# ---- no driver, another driver --------------------------------------------------------------------------------------


def test_a_restarted_driver_is_opened_again(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        before = driver.read()
        driver.change({"driver.generation": 1})
        assert driver.read() == before


def test_an_unloaded_driver_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        before = driver.read()
        driver.change({"driver.loaded": 0})
        assert driver.fail() == {
            "error": "NVIDIA: the driver is not loaded, or /dev/nvidiactl is not here; load the kernel module nvidia, "
            "or run the container with the nvidia runtime",
            "lasting": False,
        }
        assert not driver.wait(0.1)
        driver.change({"driver.loaded": 1, "driver.generation": 1})
        assert driver.read() == before


def test_a_replaced_driver_is_an_error_that_lasts(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        driver.read()
        driver.change({"driver.generation": 1, "fail.nvmlInitWithFlags": 18})
        assert driver.fail()["lasting"]


def test_a_change_of_the_driver_under_a_wait_ends_it(tmp_path: Path) -> None:
    with driving(tmp_path, hgx_h100()) as driver:
        driver.read()
        driver.change({"driver.generation": 1})
        assert driver.wait(SECONDS)
        assert driver.read()["links"]["shape"] == "full-mesh"


def test_a_machine_without_gpus_has_a_document_all_the_same(tmp_path: Path) -> None:
    assert read(tmp_path, {"driver.generation": 0})["links"] == {"shape": "none"}
