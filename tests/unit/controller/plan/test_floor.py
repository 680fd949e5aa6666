"""The data of the floor's params: what nodes and DeviceClasses offer, and the taints that requests imply."""

import re

import pytest

from floors import data_of
from node_builders import node_manifest
from podberth.controller.plan.floor import MOST_RESOURCES, floor_data
from podberth.conventions import Conventions
from podberth.devices.resources import Accelerator
from podberth.facts.cluster import collect
from podberth.facts.object_kinds import DeviceClass
from podberth.topology.index import TopologyIndex

GPU = {"nvidia.com/gpu": "8"}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def test_of_a_cluster_without_nodes_nothing_is_known() -> None:
    assert data_of([]) == {}


def test_a_resource_has_its_kind_and_the_taints_of_all_nodes_with_some_of_it() -> None:
    nodes = [
        node_manifest("a", devices=GPU, taints=[TAINT]),
        node_manifest("b", devices=GPU, taints=[{"key": "sku", "value": "gpu", "effect": "NoSchedule"}]),
        node_manifest("c", devices={"nvidia.com/mig-1g.5gb": "7"}, taints=[TAINT]),
        node_manifest("d", devices={"amd.com/gpu": "8"}),
    ]
    assert data_of(nodes) == {
        "nodes": "known",
        "nvidia.com_gpu": "whole nvidia.com/gpu:NoSchedule sku=gpu:NoSchedule",
        "nvidia.com_mig-1g.5gb": "mig nvidia.com/gpu:NoSchedule",
        "amd.com_gpu": "whole",
    }


@pytest.mark.parametrize(
    "other",
    [
        {"key": "team", "value": "a", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
        {"key": "sku", "value": "cpu", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "effect": "NoExecute"},
    ],
)
def test_a_taint_for_another_reason_is_not_tolerated_and_leaves_no_node_out(other: dict[str, str]) -> None:
    data = data_of([node_manifest("a", devices=GPU, taints=[TAINT, other])])
    assert data["nvidia.com_gpu"] == "whole nvidia.com/gpu:NoSchedule"


def test_names_that_are_no_accelerators_exist_and_imply_nothing() -> None:
    node = node_manifest(
        "a", devices={"rdma/hca": "1", "nvidia.com/gpus": "8", "example.com/none": "0"}, taints=[TAINT]
    )
    assert data_of([node]) == {"nodes": "known", "rdma_hca": "other", "nvidia.com_gpus": "other"}


def test_what_a_device_class_serves_exists_and_may_be_on_every_node_with_accelerators() -> None:
    accelerators = {"example.com/gpu": Accelerator("nvidia", "whole")}
    resources = frozenset({"example.com/gpu", "nvidia.com/gpus", "deviceclass.resource.kubernetes.io/gpu.nvidia.com"})
    found = data_of(
        [node_manifest("a", devices=GPU, taints=[TAINT])],
        [DeviceClass(resources, accelerators, hands_out_others=False)],
    )
    assert found == {
        "nodes": "known",
        "nvidia.com_gpu": "whole nvidia.com/gpu:NoSchedule",
        "example.com_gpu": "whole nvidia.com/gpu:NoSchedule",
        "deviceclass.resource.kubernetes.io_gpu.nvidia.com": "whole nvidia.com/gpu:NoSchedule",
        "nvidia.com_gpus": "other",
    }


def test_names_that_cannot_be_keys_are_left_out_and_too_many_crowd_out_no_accelerator() -> None:
    invented = {f"a.example/{number:04}": "1" for number in range(2 * MOST_RESOURCES)}
    odd = {"a/b/c": "1", "example.com/ü": "1", f"example.com/{'x' * 260}": "1"}
    data = data_of([node_manifest("a", devices={**invented, **odd, **GPU})])
    assert len(data) == MOST_RESOURCES + 1
    assert data["nvidia.com_gpu"] == "whole"
    assert all(re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", key) for key in data)


def test_a_clusters_own_taints_count() -> None:
    taint = {"key": "gpus.example.com", "effect": "NoSchedule"}
    nodes = collect([node_manifest("a", devices=GPU, taints=[taint])], now=None).nodes
    own = Conventions(tolerable_taints={"gpus.example.com": None})
    assert floor_data(TopologyIndex.build(nodes, own), ()) == {
        "nodes": "known",
        "nvidia.com_gpu": "whole gpus.example.com:NoSchedule",
    }
