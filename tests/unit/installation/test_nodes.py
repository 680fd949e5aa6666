import json
from datetime import timedelta
from typing import Any

import pytest

from e2e.dra import allocated_claim, partitionable
from podberth.installation.observation import Replica, Unread
from podberth.topology.codec import DATA_KEY
from podberth.topology.holdings import BoundPod
from podberth.topology.shapes import simulate
from status_scenes import counting, lease, observed, report, row, rows

OLD = timedelta(minutes=5)


def test_nodes_are_counted_and_their_machines_named() -> None:
    assert row("nodes") == (
        "ok",
        "2 known, 2 with GPUs, 2 with a document of their agent: 2 x 8 x NVIDIA-H100-80GB-HBM3, full-mesh of 8",
    )
    assert row("nodes", nodes=())[0] == "attention"
    [found] = rows("nodes", topologies=())
    assert found.facts["undescribed"] == ("gpu-0", "gpu-1")


def test_an_agent_that_is_silent_is_named_also_on_a_node_that_is_cordoned() -> None:
    pairs = [simulate("hgx-h100-8", f"gpu-{number}") for number in range(5)]
    pairs[0][0]["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    changes: dict[str, Any] = {
        "nodes": tuple(node for node, _ in pairs),
        "topologies": tuple(config_map for _, config_map in pairs),
        "heartbeats": tuple(lease(f"gpu-{number}", OLD) for number in range(4)),
    }
    [found] = rows("heartbeats", **changes)
    assert (found.state, found.text) == (
        "attention",
        "silent on 4 nodes, ignored: gpu-0, gpu-1, gpu-2 and 1 more; see the agents' logs",
    )
    assert found.facts == {"fresh": 1, "stale": ("gpu-0", "gpu-1", "gpu-2", "gpu-3")}
    assert row("away", **changes) == ("note", "1 node unavailable: gpu-0 (cordoned)")


def test_a_gpu_that_is_ill_is_named_with_what_it_has() -> None:
    _, ill = simulate("hgx-h100-8", "gpu-1")
    document = json.loads(ill["data"][DATA_KEY])
    document["gpus"][3]["problem"] = "XID 79"
    ill["data"][DATA_KEY] = json.dumps(document)
    topologies = (observed().topologies[0], ill)  # type: ignore[index]
    assert row("gpus", topologies=topologies) == ("attention", "ill: gpu-1 GPU 3: XID 79")
    assert rows("away", topologies=topologies) == []


def test_a_gpu_that_the_kubelet_does_not_hand_out_is_ill_though_no_agent_says_which() -> None:
    node, _ = simulate("hgx-h100-8", "gpu-1")
    node["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    nodes = (observed().nodes[0], node)  # type: ignore[index]
    assert row("gpus", nodes=nodes) == ("attention", "ill: gpu-1: unhealthy according to its Node")
    assert rows("away", nodes=nodes) == []


def holding(node: str, units: int, resource: str = "nvidia.com/gpu") -> BoundPod:
    return BoundPod(namespace="team", name="train", node=node, devices=((resource, units),), has_claims=False)


def test_what_is_free_is_said_of_each_resource() -> None:
    assert row("free", bound=(holding("gpu-0", 3),)) == (
        "ok",
        "13 of 16 nvidia.com/gpu, at most 8 on one node, 8 of them linked",
    )
    assert row("free", bound=(holding("gpu-0", 8), holding("gpu-1", 6), holding("elsewhere", 8))) == (
        "ok",
        "2 of 16 nvidia.com/gpu, at most 2 on one node, 2 of them linked",
    )


def test_what_is_free_on_a_node_that_is_away_is_not_counted() -> None:
    node, _ = simulate("hgx-h100-8", "gpu-1")
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    nodes = (observed().nodes[0], node)  # type: ignore[index]
    assert row("free", nodes=nodes, bound=()) == (
        "ok",
        "8 of 16 nvidia.com/gpu, at most 8 on one node, 8 of them linked",
    )


@pytest.mark.parametrize(
    ("shapes", "held", "said"),
    [
        (("a100-pcie-4", "a100-pcie-4"), 1, "7 of 8 nvidia.com/gpu, at most 4 on one node, 2 of them linked"),
        (("a100-pcie-4",), 2, "2 of 4 nvidia.com/gpu, at most 2 on one node, 1 to 2 of them linked"),
        (("a100-pcie-4",), 3, "1 of 4 nvidia.com/gpu, at most 1 on one node"),
        (("hgx-h100-8", "l40s-8"), 0, "16 of 16 nvidia.com/gpu, at most 8 on one node"),
        (("hgx-h100-8", "l4-1"), 4, "5 of 9 nvidia.com/gpu, at most 4 on one node, 4 of them linked"),
    ],
)
def test_the_links_are_those_of_the_nodes_with_most_free_gpus(shapes: tuple[str, ...], held: int, said: str) -> None:
    pairs = [simulate(shape, f"gpu-{index}") for index, shape in enumerate(shapes)]
    nodes, topologies = (tuple(each) for each in zip(*pairs, strict=True))
    bound = (holding("gpu-0", held),) if held else ()
    heartbeats = tuple(lease(f"gpu-{index}", timedelta(0)) for index in range(len(shapes)))
    assert row("free", nodes=nodes, topologies=topologies, heartbeats=heartbeats, bound=bound) == ("ok", said)


def test_whole_gpus_come_first_and_then_the_resources_with_most_units() -> None:
    nodes = tuple(simulate(shape, shape)[0] for shape in ("dgx-a100-8-mig-mixed", "l4-1"))
    [found] = rows("free", nodes=nodes, bound=())
    assert found.text == (
        "3 of 3 nvidia.com/gpu, at most 2 on one node; 12 of 12 nvidia.com/mig-1g.5gb, at most 12 on one node; "
        "6 of 6 nvidia.com/mig-2g.10gb, at most 6 on one node; and 1 more"
    )
    assert "6 of 6 nvidia.com/mig-3g.20gb, at most 6 on one node" in str(found.facts["free"])


def test_devices_that_claims_hold_are_counted() -> None:
    slices = tuple(partitionable("gpu-0", {"1g.5gb": (4864, 1, (0, 1, 2, 3))}))
    said = (
        "16 of 16 nvidia.com/gpu, at most 8 on one node, 8 of them linked; 1 of 2 gpu.nvidia.com, at most 1 on one node"
    )
    claims = (allocated_claim("gpu-0", "gpu-0"),)
    assert row("free", bound=(), slices=slices, claims=claims) == ("ok", said)


def test_without_all_pods_nothing_is_said_of_what_is_free() -> None:
    assert rows("free", bound=None) == []


def test_a_document_of_no_use_is_named() -> None:
    garbled = {"metadata": {**simulate("hgx-h100-8", "gpu-1")[1]["metadata"]}, "data": {DATA_KEY: "{"}}
    state, text = row("unusable", topologies=(garbled,))
    assert state == "attention"
    assert text.startswith("1 document unusable: ConfigMap gpu-1: ")


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("nodes", "nodes"),
        ("topologies", "documents"),
        ("heartbeats", "heartbeats"),
        ("slices", "slices"),
        ("claims", "claims"),
    ],
)
def test_what_could_not_be_read_is_said_and_hides_no_more_than_it_must(field: str, name: str) -> None:
    changes = {field: Unread("forbidden", f"list {field}")}
    assert rows(name, **changes)[0].state == "unread"
    assert bool(rows("gpus", **changes)) is (field != "nodes")
    assert report(**changes).troubles == 1


def test_a_replica_that_hears_nothing_is_named() -> None:
    assert row("watches") == ("ok", "every replica has received an update within 12 s")
    deaf = counting("watch_contact_age_seconds", {"resource": "leases"}, 300.0)
    assert row("watches", replicas=(deaf,)) == (
        "attention",
        "podberth-1 has received nothing about leases for 5 min; the last state is used; see its log",
    )
    assert row("watches", replicas=(Replica("podberth-1", {}),))[0] == "note"
