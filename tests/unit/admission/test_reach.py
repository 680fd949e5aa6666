"""Where a pod could run."""

from typing import Any

from builders import gpu_pod
from counted import Counted, values
from podberth.admission.reach import PodReach, ReachableCluster
from podberth.facts.cluster import collect
from snapshots import cluster

NODES = ReachableCluster(collect(cluster(hgx_h100_8=1, l4_1=2), now=None).nodes)
EVERYWHERE = [{"operator": "Exists"}]


def preferring(product: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": [product]}]}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}}


def test_taints_and_devices_keep_a_pod_off() -> None:
    assert NODES.node_count == 3
    assert NODES.reach(gpu_pod(1)).nodes == ()
    assert NODES.reach(gpu_pod(1, tolerations=EVERYWHERE)).nodes == ("hgx-h100-8-0", "l4-1-0", "l4-1-1")
    assert NODES.reach(gpu_pod(8, tolerations=EVERYWHERE)).nodes == ("hgx-h100-8-0",)


def test_a_preference_is_named_if_it_makes_a_difference() -> None:
    pod = gpu_pod(1, tolerations=EVERYWHERE, affinity=preferring("NVIDIA-L4"))
    assert NODES.reach(pod).preferred == ("l4-1-0", "l4-1-1")
    few = NODES.reach(gpu_pod(8, tolerations=EVERYWHERE, affinity=preferring("NVIDIA-L4")))
    assert (few.nodes, few.preferred) == (("hgx-h100-8-0",), ())


def test_each_other_node_has_its_reason() -> None:
    cordoned, *others = cluster(hgx_h100_8=1, l4_1=2, l4_4=1)
    cordoned["spec"]["unschedulable"] = True
    nodes = ReachableCluster(collect([cordoned, *others], now=None).nodes)
    l4 = {"nvidia.com/gpu.product": "NVIDIA-L4"}
    out = ("out of use (cordoned)", ("hgx-h100-8-0",))
    assert nodes.reach(gpu_pod(1, nodeSelector=l4)).excluded == (
        out,
        ("by taints (sku=gpu:NoSchedule)", ("l4-1-0", "l4-1-1", "l4-4-0")),
    )
    assert nodes.reach(gpu_pod(4, nodeSelector=l4, tolerations=EVERYWHERE)).excluded == (
        out,
        ("without the devices (want 4 nvidia.com/gpu, got 1 at most)", ("l4-1-0", "l4-1-1")),
    )
    h100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    assert nodes.reach(gpu_pod(0, nodeSelector=h100, tolerations=EVERYWHERE)).excluded == (
        out,
        ("by nodeSelector or affinity", ("l4-1-0", "l4-1-1", "l4-4-0")),
    )
    assert NODES.reach(gpu_pod(0, tolerations=EVERYWHERE)) == PodReach(("hgx-h100-8-0", "l4-1-0", "l4-1-1"), ())


def test_a_taint_of_ones_own_keeps_a_pod_off_only_if_the_pod_does_not_tolerate_it() -> None:
    taken, *others = cluster(hgx_h100_8=1, l4_1=2)
    taken["spec"]["taints"] = [{"key": "team", "value": "b", "effect": "NoSchedule"}]
    nodes = ReachableCluster(collect([taken, *others], now=None).nodes)
    gpus = {"key": "sku", "value": "gpu"}
    assert nodes.reach(gpu_pod(1, tolerations=[{"key": "team", "value": "b"}])).nodes == ("hgx-h100-8-0",)
    found = nodes.reach(gpu_pod(1, tolerations=[gpus]))
    assert (found.nodes, found.excluded) == (
        ("l4-1-0", "l4-1-1"),
        (("by taints (team=b:NoSchedule)", ("hgx-h100-8-0",)),),
    )


def test_values_of_preferences_are_not_compared_with_the_labels_of_each_node() -> None:
    affinity = preferring("NVIDIA-L4")
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["preference"]["matchExpressions"][0][
        "values"
    ] += values(1_000)
    assert NODES.reach(gpu_pod(1, tolerations=EVERYWHERE, affinity=affinity)).preferred == ("l4-1-0", "l4-1-1")
    assert Counted.comparisons < 10
