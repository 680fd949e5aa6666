import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from builders import JSON
from podberth.facts.cluster import collect
from podberth.topology.cluster_difference import NodeChange, difference
from podberth.topology.node import Fabric, Node, NodeTopology
from podberth.wellknown import FREE_LINKED_LABEL
from topology_scenes import LOST, cluster, described, simulated

NODE, TOPOLOGY = simulated("dgx-a100-8-mig-mixed", "n")


def changes(edit: Callable[[JSON], object], topology: NodeTopology = TOPOLOGY) -> list[NodeChange]:
    """Return what changes when the manifest is edited, or the document is another."""
    after = copy.deepcopy(NODE)
    edit(after)
    before, later = (collect(described(*pair), now=None).nodes for pair in ((NODE, TOPOLOGY), (after, topology)))
    return [change for node in difference(before, later).changed for change in node.changes]


def nothing(_: JSON) -> None:
    """Edit nothing."""


def gpus(**fields: Any) -> NodeTopology:
    """Return the document with another GPU 7."""
    return replace(TOPOLOGY, gpus=(*TOPOLOGY.gpus[:-1], replace(TOPOLOGY.gpus[-1], **fields)))


@pytest.mark.parametrize(
    ("edit", "want"),
    [
        (lambda n: n["metadata"]["labels"].update(team="a"), NodeChange("label", "team", "", "a")),
        (lambda n: n["metadata"]["labels"].update(team=""), NodeChange("label", "team", "", '""')),
        (
            lambda n: n["metadata"]["labels"].pop("nvidia.com/gpu.family"),
            NodeChange("label", "nvidia.com/gpu.family", "ampere", ""),
        ),
        (lambda n: n["spec"].update(taints=[]), NodeChange("taint", "nvidia.com/gpu:NoSchedule", '""', "")),
        (lambda n: n["spec"].update(unschedulable=True), NodeChange("state", "node", "healthy", "cordoned")),
        (
            lambda n: n["status"]["capacity"].update({"example.com/nic": "1"}),
            NodeChange("capacity", "example.com/nic", "", "some"),
        ),
        (
            lambda n: [n["status"][key].update({"nvidia.com/gpu": "3"}) for key in ("allocatable", "capacity")],
            NodeChange("allocatable", "nvidia.com/gpu", "2", "3"),
        ),
    ],
)
def test_what_changes_in_a_manifest(edit: Callable[[JSON], object], want: NodeChange) -> None:
    assert changes(edit)[0] == want


@pytest.mark.parametrize(
    ("topology", "want"),
    [
        (gpus(problem=LOST), NodeChange("health", "GPU 7", "healthy", LOST)),
        (gpus(mig_pending=False), NodeChange("mig", "mode of GPU 7", "", "off after a reset")),
        (
            replace(TOPOLOGY, mig_instances=TOPOLOGY.mig_instances[:-1]),
            NodeChange("mig", "GPU 7", "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4", "2g.10gb@0 1g.5gb@2 3g.20gb@4"),
        ),
        (
            replace(TOPOLOGY, links=replace(TOPOLOGY.links, shape="none", domains=())),
            NodeChange("links", "shape", "full-mesh of 8", "none"),
        ),
        (
            replace(TOPOLOGY, fabric=Fabric(cluster_uuid="u", clique=2)),
            NodeChange("links", "fabric", "", "u.2"),
        ),
    ],
)
def test_what_changes_in_a_document(topology: NodeTopology, want: NodeChange) -> None:
    assert want in changes(nothing, topology)


def test_another_gpu_in_the_slot_is_seen() -> None:
    [change] = changes(nothing, gpus(uuid="GPU-other"))
    assert (change.aspect, change.what) == ("gpu", "GPU 7")
    assert change.after.endswith("GPU-other")


@pytest.mark.parametrize(
    "edit",
    [
        lambda n: n["metadata"]["labels"].update({"nvidia.com/gfd.timestamp": "9"}),
        lambda n: n["metadata"]["labels"].update({FREE_LINKED_LABEL: "3"}),
        lambda n: n["metadata"].update(resourceVersion="9", annotations={"a": "b"}),
        lambda n: n["status"]["conditions"][0].update(lastHeartbeatTime="2026-01-01T00:00:00Z"),
    ],
)
def test_what_only_ages_or_comes_and_goes_is_no_change(edit: Callable[[JSON], object]) -> None:
    assert changes(edit, replace(TOPOLOGY, observed="2027-01-01T00:00:00Z")) == []


def test_gpus_are_reported_in_order_of_number() -> None:
    many = tuple(replace(TOPOLOGY.gpus[0], index=index, problem=LOST) for index in range(12))
    node = Node(name="n", topology=NodeTopology(gpus=tuple(replace(gpu, problem="") for gpu in many)))
    [changed] = difference([node], [replace(node, topology=NodeTopology(gpus=many))]).changed
    assert [change.what for change in changed.changes] == [f"GPU {index}" for index in range(12)]


def test_a_label_may_look_like_a_gpu() -> None:
    key = f"GPU {'9' * 5000}"
    [changed] = difference([Node(name="n")], [Node(name="n", labels={key: "x"})]).changed
    assert changed.changes == (NodeChange("label", key, "", "x"),)


def test_a_snapshot_is_equal_to_itself_whatever_its_order() -> None:
    nodes = collect(cluster(), now=None).nodes
    assert difference(nodes, nodes[::-1]).empty


def test_back_is_the_opposite() -> None:
    one = collect(cluster(), now=None).nodes
    other = tuple(replace(node, labels={**node.labels, "x": "y"}) for node in one[2:])
    there, back = difference(one, other), difference(other, one)
    assert [name for name, _ in there.removed] == [name for name, _ in back.added] == [node.name for node in one[:2]]
    assert [(c.before, c.after) for n in there.changed for c in n.changes] == [("", "y")] * len(other)
    assert [(c.before, c.after) for n in back.changed for c in n.changes] == [("y", "")] * len(other)


def test_the_same_to_nodes_of_one_kind_is_reported_once() -> None:
    before = collect(cluster(), now=None).nodes
    after = [
        replace(node, allocatable={"nvidia.com/gpu": 6}) if node.name in {"h100-0", "h100-1", "h100-2"} else node
        for node in before
        if node.name != "bare"
    ]
    one, other = difference(before, after).by_kind
    assert (one.event, one.names) == ("changed", ("h100-0", "h100-1", "h100-2"))
    assert one.changes == (NodeChange("allocatable", "nvidia.com/gpu", "8", "6"),)
    assert (other.event, other.names) == ("removed", ("bare",))
