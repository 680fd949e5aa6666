from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest

from builders import JSON, gpu_pod, pod
from node_builders import GPU, machines, node_manifest, nodes_of
from podberth.topology.device_use import HoldingPod
from podberth.topology.holdings import FreeLinked, Holdings, NodeUse, Tally, free_linked
from podberth.wellknown import FREE_LINKED_LABEL, LINK_DOMAIN_LABEL

SLICE = "nvidia.com/mig-1g.5gb"


def bound(gpus: int, node: str, name: str = "pod", *, resource: str = GPU, **status: Any) -> JSON:
    """Return a pod that is bound to a node and holds GPUs of it."""
    return {**gpu_pod(gpus, resource=resource, name=name, nodeName=node), "status": {"phase": "Running", **status}}


def use(*pods: JSON, devices: Mapping[str, Any] | None = None, **fields: Any) -> NodeUse:
    """Return the use of one node, by default one with eight GPUs about which nothing else is known."""
    [node] = nodes_of(node_manifest("a", devices=devices or {GPU: "8"}, **fields))
    return Holdings.of([node], pods).nodes["a"]


def test_a_pod_holds_its_devices_from_when_it_is_bound_until_it_ends() -> None:
    [gpus] = use(
        bound(1, "a", "running"),
        bound(2, "a", "starting", phase="Pending"),
        {**bound(1, "a", "leaving"), "metadata": {"name": "leaving", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        bound(4, "a", "done", phase="Succeeded"),
        bound(4, "a", "failed", phase="Failed"),
        bound(4, "elsewhere", "other"),
        gpu_pod(4, name="waiting"),
    ).devices
    assert (gpus.allocatable, gpus.used, gpus.free) == (8, 4, 4)
    assert gpus.holders == (
        HoldingPod("default", "starting", 2),
        HoldingPod("default", "leaving", 1),
        HoldingPod("default", "running", 1),
    )


def test_slices_of_each_profile_and_shares_are_counted_apart() -> None:
    offered = {GPU: "2", "nvidia.com/gpu.shared": "8", SLICE: "14", "nvidia.com/mig-3g.20gb": "2"}
    found = use(
        bound(5, "a", "small", resource=SLICE),
        bound(3, "a", "share", resource="nvidia.com/gpu.shared"),
        devices=offered,
    )
    assert [(each.resource, each.kind, each.used, each.free) for each in found.devices] == [
        (GPU, "whole", 0, 2),
        ("nvidia.com/gpu.shared", "shared", 3, 5),
        (SLICE, "mig", 5, 9),
        ("nvidia.com/mig-3g.20gb", "mig", 0, 2),
    ]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ({}, "whole"),
        ({"nvidia.com/gpu.replicas": "4"}, "shared"),
        ({"nvidia.com/mig.strategy": "single", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, "mig"),
    ],
)
def test_a_unit_with_the_name_of_a_gpu_is_what_the_node_makes_of_it(labels: dict[str, str], kind: str) -> None:
    [gpus] = use(labels=labels).devices
    assert gpus.kind == kind


def test_pods_that_hold_lost_devices_leave_none_free() -> None:
    [gpus] = use(bound(6, "a"), devices={GPU: "5"}, capacity={GPU: "8"}).devices
    assert (gpus.held, gpus.used, gpus.free) == (6, 5, 0)


def test_nics_are_no_accelerators() -> None:
    found = use(devices={GPU: "8", "nvidia.com/rdma-vf": "4"})
    assert [each.resource for each in found.devices] == [GPU, "nvidia.com/rdma-vf"]
    assert [each.resource for each in found.accelerators] == [GPU]


def test_a_pod_that_cannot_be_read_is_reported_and_not_counted() -> None:
    broken = {**bound(4, "a", "broken"), "spec": {"nodeName": "a", "containers": 7}}
    [node] = nodes_of(node_manifest("a", devices={GPU: "8"}))
    found = Holdings.of([node], [broken, bound(1, "a")])
    assert found.problems == (
        "Pod default/broken: spec.containers: got integer, want list; its devices are not counted",
    )
    assert found.nodes["a"].free_of(GPU) == 7


def test_pods_with_claims_are_counted_because_their_devices_are_not() -> None:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    [node] = nodes_of(node_manifest("a", devices={GPU: "8"}))
    found = Holdings.of([node], [pod(name="claims", nodeName="a", resourceClaims=claims), bound(1, "a")])
    assert (found.claimants, len(found.pods), found.namespaces) == (1, 2, 1)


def test_a_node_has_room_if_it_has_every_device_free() -> None:
    nodes = nodes_of(node_manifest("a", devices={GPU: "8", SLICE: "7"}), node_manifest("b", devices={GPU: "8"}))
    found = Holdings.of(nodes, [bound(5, "a"), bound(4, "b", "other")])
    assert found.with_room(["a", "b", "unknown"], [(GPU, 3)]) == ("a", "b")
    assert found.with_room(["a", "b"], [(GPU, 4)]) == ("b",)
    assert found.with_room(["a", "b"], [(GPU, 3), (SLICE, 7)]) == ("a",)


def test_what_is_free_on_unhealthy_nodes_is_counted_apart() -> None:
    cordoned = node_manifest("b", devices={GPU: "8"})
    cordoned["spec"]["unschedulable"] = True
    nodes = nodes_of(node_manifest("a", devices={GPU: "8", SLICE: "7"}), cordoned)
    found = Holdings.of(nodes, [bound(5, "a"), bound(2, "b", "other")])
    assert Tally.of(found.nodes.values(), GPU) == Tally(used=7, free=3, free_unhealthy=6, most=3)
    assert Tally.of(found.nodes.values()) == Tally(used=7, free=10, free_unhealthy=6, most=7)


# ---- free GPUs that are linked ---------------------------------------------------------------------------------------


def linked(used: int, shape: str = "hgx-h100-8") -> tuple[int, int] | None:
    nodes = nodes_of(*machines(shape, 1))
    found = Holdings.of(nodes, [bound(used, nodes[0].name)] if used else []).nodes[nodes[0].name].linked
    return found and (found.least, found.most)


def test_in_a_full_mesh_all_free_gpus_are_linked() -> None:
    assert [linked(used) for used in (1, 7, 8)] == [(7, 7), (1, 1), (0, 0)]


def test_by_labels_alone_a_node_of_which_four_are_linked_has_bounds() -> None:
    found = use(bound(4, "a"), labels={LINK_DOMAIN_LABEL: "4"})
    assert found.linked == FreeLinked(GPU, 1, 4)


@pytest.mark.parametrize(("label", "least", "most"), [("4", 4, 4), ("1", 1, 1), ("0", 1, 4), ("5", 1, 4), ("x", 1, 4)])
def test_the_label_of_the_agent_is_the_number_if_it_agrees_with_the_pods(label: str, least: int, most: int) -> None:
    found = use(bound(4, "a"), labels={LINK_DOMAIN_LABEL: "4", FREE_LINKED_LABEL: label})
    assert found.linked == FreeLinked(GPU, least, most)


def test_a_label_of_more_than_eight_is_rounded_down() -> None:
    labels = {LINK_DOMAIN_LABEL: "16", FREE_LINKED_LABEL: "8"}
    assert use(bound(4, "a"), devices={GPU: "20"}, labels=labels).linked == FreeLinked(GPU, 12, 16)
    assert use(bound(9, "a"), devices={GPU: "20"}, labels=labels).linked == FreeLinked(GPU, 8, 11)


def test_gpus_in_mig_mode_are_in_no_link_domain() -> None:
    [node] = nodes_of(*machines("dgx-a100-8-mig-mixed", 1))
    assert node.allocatable[GPU] == 2
    assert [linked(used, "dgx-a100-8-mig-mixed") for used in (0, 1)] == [(2, 2), (1, 1)]


def test_without_links_nothing_is_said_of_linked_gpus() -> None:
    assert linked(1, "l4-4") is None


def test_two_islands_of_four_with_four_used_have_two_to_four_free_linked() -> None:
    assert free_linked([4, 4], 8, 4) == (2, 4)


@pytest.mark.parametrize("sizes", [(4, 4), (8,), (2, 2, 2), (3, 2), (4,), (5, 1), ()])
def test_the_bounds_are_the_least_and_the_most_of_all_choices(sizes: tuple[int, ...]) -> None:
    gpus = max(sum(sizes), 6)
    domain_of = [number for number, size in enumerate(sizes) for _ in range(size)]
    domain_of += range(len(sizes), len(sizes) + gpus - len(domain_of))
    for free in range(gpus + 1):
        largest = {
            max((sum(domain_of[index] == domain for index in chosen) for domain in domain_of), default=0)
            for chosen in combinations(range(gpus), free)
        }
        assert free_linked(sizes, gpus, free) == (min(largest), max(largest))
