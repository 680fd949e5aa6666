"""Pods that a group or a queue holds."""

from typing import Any

from builders import container, gpu_pod, pod_group

from .why_nodes import BLOCK, on
from .why_scene import Scene, document, it

Document = dict[str, Any]

_QUEUED = {"kueue.x-k8s.io/queue-name": "team"}
_KUEUE_GATE = [{"name": "kueue.x-k8s.io/admission"}]
_OF_WORKLOAD = it(schedulingGates=_KUEUE_GATE, labels=_QUEUED, annotations={"kueue.x-k8s.io/workload": "pod-it"})
_POD_SET = {"name": "main", "count": 1, "template": {"spec": {"containers": [container()]}}}
_WORKLOAD = document("kueue.x-k8s.io/v1beta2", "Workload", "pod-it", {"queueName": "team", "podSets": [_POD_SET]})
_NO_QUOTA = {
    "type": "QuotaReserved",
    "status": "False",
    "reason": "Pending",
    "message": "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def _ring(name: str, size: int, level: str) -> list[Document]:
    """Return a group of pods with four GPUs each, which have to be in one domain of a level."""
    names = ("it", *(f"m{number}" for number in range(1, size)))
    pods = [gpu_pod(4, name=each, schedulingGroup={"podGroupName": name}, **on("racks")) for each in names]
    return [pod_group(name, size, level), *pods]


def _of_kai(queue: str) -> Document:
    return it(schedulerName="kai-scheduler", labels={"kai.scheduler/queue": queue})


def _kai_queue(name: str, parent: str = "") -> Document:
    return document("scheduling.run.ai/v2", "Queue", name, {"parentQueue": parent} if parent else {})


def _of_volcano(queue: str) -> Document:
    return it(schedulerName="volcano", annotations={"scheduling.volcano.sh/queue-name": queue})


def _volcano_queue(name: str) -> Document:
    return document("scheduling.volcano.sh/v1beta1", "Queue", name, {"weight": 1})


def _local_queue(**spec: Any) -> Document:
    return document("kueue.x-k8s.io/v1beta2", "LocalQueue", "team", {"clusterQueue": "all", **spec})


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
            _OF_WORKLOAD,
            _WORKLOAD,
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
    Scene(
        name="full-queue",
        objects=[_OF_WORKLOAD, _WORKLOAD],
        statuses={
            "/apis/kueue.x-k8s.io/v1beta2/namespaces/why-full-queue/workloads/pod-it": {"conditions": [_NO_QUOTA]}
        },
        cause="queue",
        says="to queue team: couldn't assign flavors to pod set main: insufficient unused quota",
        shows="Workload pod-it: QuotaReserved is False, Pending",
        shared=True,
    ),
    Scene(
        name="stopped-queue",
        objects=[_local_queue(stopPolicy="Hold"), it(labels=_QUEUED, schedulingGates=_KUEUE_GATE)],
        cause="queue",
        says="got team, a LocalQueue that is stopped: spec.stopPolicy Hold",
        shared=True,
    ),
    Scene(
        name="no-cluster-queue",
        objects=[_local_queue(clusterQueue="gone"), it(labels=_QUEUED, schedulingGates=_KUEUE_GATE)],
        before=lambda _: [document("kueue.x-k8s.io/v1beta2", "ClusterQueue", "all", {})],
        cause="queue",
        says="got team, a LocalQueue of ClusterQueue gone, which does not exist",
        shared=True,
    ),
    Scene(
        name="volcano-closed",
        objects=[_of_volcano("night")],
        before=lambda _: [_volcano_queue("night")],
        statuses={"/apis/scheduling.volcano.sh/v1beta1/queues/night": {"state": "Closed"}},
        cause="queue",
        says="got night, a Volcano Queue that takes no jobs: status.state Closed",
        shared=True,
    ),
    Scene(
        name="volcano-root",
        objects=[_of_volcano("root")],
        before=lambda _: [_volcano_queue("day")],
        cause="queue",
        says="got root, the parent of all Volcano Queues: only leaf queues take pods",
        shared=True,
    ),
    Scene(
        name="kai-parent",
        objects=[_of_kai("research")],
        before=lambda _: [_kai_queue("research"), _kai_queue("vision", "research")],
        cause="queue",
        says="got research, a parent of KAI Queues: only leaf queues take pods",
        shared=True,
    ),
    Scene(
        name="kai-missing",
        objects=[_of_kai("speech")],
        before=lambda _: [_kai_queue("sound")],
        cause="queue",
        says="got speech, no KAI Queue; have research, sound, vision",
        shared=True,
    ),
)
