"""Pods that a group or a queue holds."""

from typing import Any

from builders import container, gpu_pod, pod_group

from .why_nodes import BLOCK, on
from .why_scene import Scene, document, it

Document = dict[str, Any]

_QUEUED = {"kueue.x-k8s.io/queue-name": "team"}
_KUEUE_GATE = [{"name": "kueue.x-k8s.io/admission"}]


def _ring(name: str, size: int, level: str) -> list[Document]:
    """Return a group of pods with four GPUs each, which have to be in one domain of a level."""
    names = ("it", *(f"m{number}" for number in range(1, size)))
    pods = [gpu_pod(4, name=each, schedulingGroup={"podGroupName": name}, **on("racks")) for each in names]
    return [pod_group(name, size, level), *pods]


SCENES: tuple[Scene, ...] = (
    Scene(
        name="no-group",
        objects=[it(schedulingGroup={"podGroupName": "gone"})],
        cause="group",
        says="PodGroup gone does not exist",
    ),
    Scene(
        name="small-group",
        objects=[pod_group("few", 3), it(schedulingGroup={"podGroupName": "few"})],
        cause="group",
        says="PodGroup few starts 3 pods together, and has 1",
    ),
    Scene(
        name="group-room",
        objects=[
            pod_group("both", 3),
            *(gpu_pod(2, name=n, schedulingGroup={"podGroupName": "both"}, **on("gang")) for n in ("it", "b", "c")),
        ],
        cause="group room",
        says="PodGroup both needs room for 3 such pods at once, and there is room for 2",
    ),
    Scene(
        name="level",
        objects=_ring("three", 3, BLOCK),
        cause="level",
        says=f"PodGroup three starts 3 pods in one {BLOCK}, and the largest holds 2",
    ),
    Scene(
        name="level-room",
        objects=_ring("two", 2, BLOCK),
        cause="level room",
        says=f"at most 1 of 2 pods of PodGroup two fit into one {BLOCK} now",
    ),
    Scene(
        name="no-level",
        objects=_ring("two", 2, "example.com/row"),
        cause="level",
        says="PodGroup two starts 2 pods in one example.com/row, and no node that fits has this label",
    ),
    Scene(
        name="kueue",
        objects=[
            it(schedulingGates=_KUEUE_GATE, labels=_QUEUED, annotations={"kueue.x-k8s.io/workload": "pod-it"}),
            document(
                "kueue.x-k8s.io/v1beta2",
                "Workload",
                "pod-it",
                {
                    "queueName": "team",
                    "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container()]}}}],
                },
            ),
        ],
        cause="queue",
        says="Kueue has not admitted it to queue team",
        shared=True,
    ),
    Scene(
        name="no-queue",
        objects=[
            document("kueue.x-k8s.io/v1beta2", "LocalQueue", "others", {"clusterQueue": "all"}),
            it(labels=_QUEUED, schedulingGates=_KUEUE_GATE),
        ],
        cause="queue",
        says="got team, no LocalQueue",
        shared=True,
    ),
)
