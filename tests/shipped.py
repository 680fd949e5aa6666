"""The shipped policies on a small cluster, and arbitrary pods that they have something to say about."""

from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from builders import gpu_container, pod
from podberth.admission.snapshot import Snapshot
from podberth.facts.cluster import collect
from snapshots import cluster, library, over

POLICIES = Path(__file__).parents[1] / "policies"
NODES = cluster(hgx_h100_8=2, a100_pcie_4=1, dgx_a100_8_mig_mixed=1, l4_1=2, t4_shared=1, gb200_tray=2)
PRODUCTS = ["NVIDIA-H100-80GB-HBM3", "NVIDIA-L4", "nothing"]
CHOICES = [
    *({"nvidia.com/gpu.product": product} for product in [*PRODUCTS, "NVIDIA-GB200"]),
    {"kubernetes.io/arch": "arm64"},
    {"cloud.google.com/gke-spot": "true"},
]
LABELS: list[dict[str, str]] = [
    {},
    {"podberth.io/gang": "g"},
    {"kueue.x-k8s.io/queue-name": "q"},
    {"podberth.io/role": "decode"},
]
WISHES: list[dict[str, str]] = [
    {},
    {"podberth.io/gpu-memory": "4Gi"},
    {"podberth.io/gpu-memory": "60Gi"},
    {"podberth.io/gang-size": "4"},
    {"podberth.io/gpu-product": "H100,L4", "podberth.io/gpu-compute": "8.9"},
]
RESOURCES = ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-4g.5gb", "nvidia.com/gpu.shared", "amd.com/gpu"]


@cache
def shipped(number_of_nodes: int = len(NODES)) -> Snapshot:
    """Return the policies that are on by default, on the first nodes of the cluster."""
    return over(library(), collect(NODES[:number_of_nodes], now=None))


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a node selector term."""
    values = draw(st.lists(st.sampled_from(PRODUCTS), min_size=1, max_size=2, unique=True))
    return {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": values}]}


TOLERATIONS = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["nvidia.com/gpu", "team"]), "operator": st.sampled_from(["Exists", "Equal"])},
        optional={"effect": st.sampled_from(["NoSchedule", "NoExecute"])},
    ),
    max_size=2,
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a pod."""
    containers = [
        gpu_container(f"c{index}", draw(st.sampled_from([0, 1, 2, 4, 8])), resource=draw(st.sampled_from(RESOURCES)))
        for index in range(draw(st.integers(1, 2)))
    ]
    spec: dict[str, Any] = {}
    if draw(st.booleans()):
        required = {"nodeSelectorTerms": draw(st.lists(terms(), min_size=1, max_size=2))}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if draw(st.booleans()):
        spec["nodeSelector"] = draw(st.sampled_from(CHOICES))
    if draw(st.booleans()):
        spec["tolerations"] = draw(TOLERATIONS)
    document = pod(*containers, labels=draw(st.sampled_from(LABELS)), annotations=draw(st.sampled_from(WISHES)), **spec)
    document["spec"]["x-unknown"] = {"deep": [1, None]}
    return document
