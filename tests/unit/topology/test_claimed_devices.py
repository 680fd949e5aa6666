"""Devices of DRA drivers: which are held and free, over the slices that NVIDIA's driver publishes."""

import pytest

from builders import JSON
from e2e.dra import GPU_DRIVER, NIC_DRIVER, PCIE_ROOT, allocated_claim, device_class, partitionable, resource_slice
from podberth.devices.claims import whole_of_driver
from podberth.topology.claimed_devices import Alike, claimed_use, free_alike
from podberth.topology.device_use import HoldingPod

PLACES = {"1g.5gb": (4864, 1, (0, 1, 2, 3)), "3g.20gb": (19968, 4, (0, 4))}
GPUS, SMALL, LARGE = GPU_DRIVER, f"{GPU_DRIVER} 1g.5gb", f"{GPU_DRIVER} 3g.20gb"


def node() -> list[JSON]:
    """Return the slices of node `a` with two GPUs, of which the first can be cut."""
    return [*partitionable("a", PLACES)]


def free(slices: list[JSON], *claims: JSON) -> dict[str, tuple[int, int]]:
    """Return (held, free) of each resource of node `a`."""
    return {each.resource: (each.held, each.free) for each in claimed_use(slices, claims)["a"]}


def test_what_no_claim_has_is_free() -> None:
    assert free(node()) == {GPUS: (0, 2), SMALL: (0, 4), LARGE: (0, 2)}


def test_a_whole_gpu_that_is_held_has_no_free_slices() -> None:
    assert free(node(), allocated_claim("a", "gpu-0")) == {GPUS: (1, 1), SMALL: (0, 0), LARGE: (0, 0)}


def test_a_slice_takes_the_whole_gpu_and_what_overlaps() -> None:
    assert free(node(), allocated_claim("a", "gpu-0-mig-1g5gb-2")) == {GPUS: (0, 1), SMALL: (1, 3), LARGE: (0, 1)}
    assert free(node(), allocated_claim("a", "gpu-0-mig-3g20gb-0")) == {GPUS: (0, 1), SMALL: (0, 0), LARGE: (1, 1)}


def test_holders_are_pods_of_the_claim_or_the_claim_itself() -> None:
    both = allocated_claim("a", "gpu-0", "gpu-1", pods=("a", "b", "c", "d"))
    [gpus, *_] = claimed_use(node(), [both])["a"]
    assert gpus.holders == (HoldingPod("team", "a, b, c, and 1 more", 2),)
    [gpus, *_] = claimed_use(node(), [allocated_claim("a", "gpu-1", pods=())])["a"]
    assert gpus.holders == (HoldingPod("team", "(ResourceClaim gpus)", 1),)


def test_a_claim_of_a_monitor_holds_nothing() -> None:
    assert free(node(), allocated_claim("a", "gpu-0", adminAccess=True))[GPUS] == (0, 2)


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_tainted_device_is_not_free(effect: str) -> None:
    slices = node()
    slices[2]["spec"]["devices"][0]["taints"] = [{"key": "unhealthy", "effect": effect}]
    assert free(slices)[GPUS] == (0, 1)


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    slices = node()
    devices = slices[1]
    old = {**devices, "spec": {**devices["spec"], "pool": {**devices["spec"]["pool"], "generation": 0}}}
    assert free([old, *slices]) == free(slices)


def test_v1beta1_has_the_device_one_level_deeper() -> None:
    slices = node()
    slices[1]["spec"]["devices"] = [
        {"name": device.pop("name"), "basic": device} for device in slices[1]["spec"]["devices"]
    ]
    assert free(slices, allocated_claim("a", "gpu-0"))[GPUS] == (1, 1)


def test_devices_that_are_no_accelerators_of_a_node_are_left_out() -> None:
    """A NIC, a GPU for a virtual machine, one that several claims may use, and one that the network has."""
    slices = node()
    odd = slices[1]["spec"]["devices"]
    odd.append({"name": "vm", "attributes": {"type": {"string": "vfio"}}})
    odd.append({"name": "shared", "attributes": {"type": {"string": "gpu"}}, "allowMultipleAllocations": True})
    remote = {
        "kind": "ResourceSlice",
        "spec": {"driver": GPU_DRIVER, "pool": {"name": "x"}, "devices": [{"name": "r"}]},
    }
    nic = resource_slice("a", NIC_DRIVER, "pci0000:00")
    assert free([*slices, nic, remote]) == {GPUS: (0, 2), SMALL: (0, 4), LARGE: (0, 2)}


@pytest.mark.parametrize(
    "broken",
    [
        {"devices": [1, {"name": 1}], "nodeName": "a"},
        {"devices": {"a": 1}},
        {"sharedCounters": [{"name": "x", "counters": {"m": 1, "n": {"value": "many"}, "o": {"value": []}}}]},
        {"pool": {"name": "a", "generation": "1"}},
        {"nodeName": "a", "devices": [{"name": "g", "consumesCounters": [1], "attributes": [], "taints": [1]}]},
    ],
)
def test_unreadable_parts_are_skipped(broken: JSON) -> None:
    document = {"kind": "ResourceSlice", "spec": {"driver": GPU_DRIVER, "pool": {"name": "b"}, **broken}}
    bad_claim = {"kind": "ResourceClaim", "status": {"allocation": {"devices": {"results": [1, {}]}}, "reservedFor": 1}}
    found = claimed_use([*node(), document], [bad_claim])["a"]
    assert {each.resource: each.free for each in found}[SMALL] == 4


def test_devices_with_lists_of_values_share_each_value() -> None:
    slices = resource_slice("a", GPU_DRIVER, "x", "x", "y")
    for device, values in zip(slices["spec"]["devices"], (["1", "2"], ["2", "3"], ["3", "4"]), strict=True):
        device["attributes"]["numa"] = {"strings": values}
    assert free_alike([slices], [], GPU_DRIVER, f"{GPU_DRIVER}/numa") == {"a": Alike(3, 2)}
    assert free_alike([slices], [], GPU_DRIVER, "example.com/numa") == {"a": Alike(3, 0)}


def test_held_devices_are_not_among_those_that_are_alike() -> None:
    slices = [resource_slice("a", GPU_DRIVER, "x", "x", "y")]
    claims = [allocated_claim("a", "gpu-0")]
    assert free_alike(slices, claims, GPU_DRIVER, PCIE_ROOT) == {"a": Alike(2, 1)}


@pytest.mark.parametrize(
    ("document", "driver"),
    [
        (device_class("gpu.nvidia.com", GPU_DRIVER, "gpu"), GPU_DRIVER),
        (device_class("all", GPU_DRIVER), ""),
        (device_class("mig.nvidia.com", GPU_DRIVER, "mig"), ""),
        (device_class("gpu.amd.com", "gpu.amd.com"), "gpu.amd.com"),
        (device_class("nics", NIC_DRIVER), ""),
        ({}, ""),
    ],
)
def test_a_class_of_all_whole_accelerators_names_its_driver(document: JSON, driver: str) -> None:
    assert whole_of_driver(document) == driver
