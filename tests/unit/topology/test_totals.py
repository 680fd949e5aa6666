"""Accelerators by model: whole, slices and shares apart, each with what is used and free."""

import pytest

from builders import gpu_pod
from podberth.facts.cluster import collect
from podberth.topology.holdings import Holdings
from podberth.topology.node import Node
from podberth.topology.shapes import SHAPES, simulate
from podberth.topology.totals import ModelTotal, totals
from topology_scenes import cluster, holders

NODES = collect(cluster(), now=None).nodes


def units(found: ModelTotal) -> list[tuple[str, int]]:
    return [(each.unit, each.amount) for each in found.units]


def test_whole_gpus_and_slices_of_a_model_are_counted_apart() -> None:
    h100, a100, l4 = totals(NODES)
    assert (h100.model, h100.nodes, h100.devices, units(h100)) == ("NVIDIA-H100-80GB-HBM3", 9, 80, [("whole", 72)])
    assert (a100.model, a100.nodes, a100.devices) == ("NVIDIA-A100-SXM4-40GB", 1, 8)
    assert units(a100) == [("whole", 2), ("MIG 1g.5gb", 12), ("MIG 2g.10gb", 6), ("MIG 3g.20gb", 6)]
    assert (l4.model, l4.devices) == ("NVIDIA-L4", 4)
    assert {unit.use for each in (h100, a100, l4) for unit in each.units} == {None}


def test_slices_of_one_profile_that_are_offered_as_two_resources_have_two_names() -> None:
    labels = {"nvidia.com/gpu.product": "L", "nvidia.com/mig.strategy": "mixed"}
    single = {"nvidia.com/gpu.product": "L-MIG-1g.5gb", "nvidia.com/mig.strategy": "single"}
    nodes = [
        Node(name="a", labels=labels, allocatable={"nvidia.com/gpu": 2, "nvidia.com/mig-1g.5gb": 7}),
        Node(name="b", labels=single, allocatable={"nvidia.com/gpu": 14}),
    ]
    [found] = totals(nodes)
    slices = [("MIG 1g.5gb as gpu", 14), ("MIG 1g.5gb as mig-1g.5gb", 7)]
    assert units(found) == [("whole", 2), *slices]


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_has_its_devices_once_however_they_are_divided(shape: str) -> None:
    [found] = totals(collect(simulate(shape, "node"), now=None).nodes)
    assert (found.nodes, found.devices) == (1, SHAPES[shape].gpus)


def test_a_shared_gpu_is_named_by_how_it_is_shared() -> None:
    [found] = totals(collect(simulate("t4-shared", "node"), now=None).nodes)
    assert (found.model, found.devices, units(found)) == ("Tesla-T4", 1, [("time-sliced share", 4)])


@pytest.mark.parametrize(
    ("labels", "devices", "unit"),
    [
        (
            {"nvidia.com/gpu.product": "L-SHARED", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "2"},
            2,
            "share",
        ),
        ({"nvidia.com/gpu.product": "L", "nvidia.com/gpu.sharing-strategy": "none"}, 8, "whole"),
        (
            {
                "nvidia.com/gpu.product": "L",
                "nvidia.com/gpu.replicas": "4",
                "nvidia.com/gpu.sharing-strategy": "mps",
                "nvidia.com/gpu.count": "9999999",
            },
            0,
            "MPS share",
        ),
        (
            {"cloud.google.com/gke-accelerator": "L", "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing"},
            0,
            "time-sliced share",
        ),
        (
            {"nvidia.com/gpu.product": "L-MIG-1g.5gb", "nvidia.com/mig.strategy": "single"},
            0,
            "MIG 1g.5gb",
        ),
    ],
)
def test_labels_say_what_no_document_does(labels: dict[str, str], devices: int, unit: str) -> None:
    [found] = totals([Node(name="a", labels=labels, allocatable={"nvidia.com/gpu": 8})])
    assert (found.model, found.devices, units(found)) == ("L", devices, [(unit, 8)])


def test_used_free_and_out_of_use_are_all_there_is() -> None:
    h100, a100, _ = totals(NODES, Holdings.of(NODES, holders()))
    [whole] = h100.units
    assert whole.use is not None
    # Ten are free on nodes that are out of use, and one has fallen off its bus.
    assert (whole.use.used, whole.use.free, whole.out_of_use, whole.amount) == (26, 35, 11, 72)
    assert [each.use.used for each in a100.units if each.use] == [0, 3, 0, 0]


def test_nodes_without_accelerators_are_left_out_and_an_unknown_model_has_no_name() -> None:
    nodes = [Node(name="a"), Node(name="b", allocatable={"google.com/tpu": 4, "vpc.amazonaws.com/efa": 1})]
    [found] = totals(nodes, Holdings.of(nodes, [gpu_pod(1, resource="google.com/tpu", nodeName="b")]))
    assert (found.model, found.nodes, found.devices, units(found)) == ("", 1, 4, [("whole", 4)])
    assert found.units[0].use is not None
    assert (found.units[0].use.used, found.units[0].use.free) == (1, 3)
