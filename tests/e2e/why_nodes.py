"""The nodes of the small cluster on which causes are planted, and the pods that hold devices of some of them."""

from typing import Any

from builders import gpu_pod
from controlplane.kubelet import gpu_node

Document = dict[str, Any]

POOL = "example.com/pool"
BLOCK = "example.com/block"
SLICE = "nvidia.com/mig-1g.10gb"
DOWN = "down-1"
"""The node that is not ready."""
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def node(pool: str, number: int = 1, *, gpus: int = 8, **fields: Any) -> Document:
    """Return a node of a pool; ``fields`` are ``spec``, ``labels``, ``capacity`` and ``allocatable``."""
    made = gpu_node(f"{pool}-{number}", gpus=gpus, labels={POOL: pool, **fields.get("labels", {})})
    made["status"]["capacity"] |= fields.get("capacity", {})
    made["status"]["allocatable"] = fields.get("allocatable", {})
    return {**made, "spec": fields.get("spec", {})}


def nodes() -> list[Document]:
    """Return the nodes of the cluster."""
    return [
        node("held"),
        *(node("parts", number) for number in (1, 2)),
        node("tainted", spec={"taints": [{"key": "team", "value": "red", "effect": "NoSchedule"}]}),
        node("cordoned", spec={"unschedulable": True}),
        node("sliced", gpus=0, capacity={SLICE: "7", "nvidia.com/mig-2g.20gb": "1"}),
        node("shared", labels={"nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.replicas": "4"}),
        node("ill", allocatable={"nvidia.com/gpu": "6"}),
        node(DOWN.partition("-")[0]),
        node("ranked"),
        node("gang"),
        node("cpu", gpus=0, labels={ZONE: "a"}),
        node("dra", gpus=0),
        node("zoned", labels={ZONE: "b"}),
        node("free"),
        *(node("racks", number, labels={BLOCK: f"block-{number}"}) for number in (1, 2)),
        node("claimed", gpus=0),
    ]


def on(pool: str) -> Document:
    """Return the nodeSelector of a pool, as a field of a pod's spec."""
    return {"nodeSelector": {POOL: pool}}


def holders() -> list[Document]:
    """Return the pods that hold devices of some pools, to be placed before the scenes."""
    return [
        gpu_pod(8, name="whole", **on("held")),
        *(gpu_pod(6, name=f"most-of-{n}", nodeSelector={HOSTNAME: f"parts-{n}"}) for n in (1, 2)),
        gpu_pod(7, name="slices", resource=SLICE, **on("sliced")),
        gpu_pod(4, name="healthy", **on("ill")),
        _staying(gpu_pod(8, name="low", **on("ranked"))),
        gpu_pod(4, name="half", **on("gang")),
        *(gpu_pod(4, name=f"half-of-{n}", nodeSelector={HOSTNAME: f"racks-{n}"}) for n in (1, 2)),
    ]


def _staying(pod: Document) -> Document:
    """Return the pod with a finalizer: it holds its devices after it is preempted."""
    return {**pod, "metadata": {**pod["metadata"], "finalizers": ["example.com/stay"]}}
