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
    assert NODES.reach(gpu_pod(8, tolerations=EVERYWHERE, affinity=preferring("NVIDIA-L4"))) == PodReach(
        ("hgx-h100-8-0",), ()
    )


def test_values_of_preferences_are_not_compared_with_the_labels_of_each_node() -> None:
    affinity = preferring("NVIDIA-L4")
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["preference"]["matchExpressions"][0][
        "values"
    ] += values(1_000)
    assert NODES.reach(gpu_pod(1, tolerations=EVERYWHERE, affinity=affinity)).preferred == ("l4-1-0", "l4-1-1")
    assert Counted.comparisons < 10
