"""Pods for which no node is fit or free, or not beside the pods on it."""

import json
from typing import Any

from builders import container, gpu_pod, pod
from podberth.wellknown import APPLIED_ANNOTATION, NAMESPACE, TOPOLOGY_LABEL

from .why_nodes import HOSTNAME, POOL, SLICE, on
from .why_scene import Scene, document, it

Document = dict[str, Any]

_OURS = {"key": "example.com/rank", "operator": "In", "values": ["first"]}
_RECORD = {"near": {"nodeAffinity": {"required": [{"matchExpressions": [_OURS]}]}}}


def _silent_agent(_: str) -> list[Document]:
    lease = {"renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 90}
    made = document("coordination.k8s.io/v1", "Lease", "free-1", lease)
    made["metadata"] |= {"namespace": NAMESPACE, "labels": {TOPOLOGY_LABEL: "v1"}}
    return [made]


def _required(*expressions: Document) -> Document:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _beside(kind: str, app: str, key: str = HOSTNAME) -> Document:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _class(name: str, **fields: Any) -> list[Document]:
    """Return a PriorityClass above the priority of all other pods."""
    made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1000}
    return [{**made, **fields}]


def _at_its_limit(namespace: str) -> list[Document]:
    """Return the Event by which an autoscaler says that it adds no node."""
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "no-node", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "name": "it", "namespace": namespace},
        "source": {"component": "cluster-autoscaler"},
        "type": "Normal",
        "reason": "NotTriggerScaleUp",
        "message": "pod didn't trigger scale-up: 1 max node group size reached",
    }
    return [event]


SCENES: tuple[Scene, ...] = (
    Scene(
        name="misspelt",
        objects=[gpu_pod(1, name="it", resource="nvidia.com/gpus")],
        cause="resource",
        says="no node offers nvidia.com/gpus; did you mean nvidia.com/gpu?",
    ),
    Scene(
        name="vendor",
        objects=[gpu_pod(1, name="it", resource="amd.com/gpu")],
        cause="resource",
        says="offers amd.com/gpu",
    ),
    Scene(
        name="profile",
        objects=[gpu_pod(1, name="it", resource="nvidia.com/mig-3g.40gb")],
        cause="resource",
        says="no node offers nvidia.com/mig-3g.40gb",
    ),
    Scene(name="too-many", objects=[gpu_pod(16, name="it")], cause="size", says="no node has 16 nvidia.com/gpu"),
    Scene(
        name="too-many-shares",
        objects=[it(9, **on("shared"))],
        cause="size",
        says="no node has 9 nvidia.com/gpu",
        shows="shared-1: its 8 nvidia.com/gpu are time-sliced shares of 2 GPUs, which other pods use too",
        does="ask for 1 nvidia.com/gpu in each container: more shares would be no larger part of a GPU",
    ),
    Scene(
        name="too-much-cpu",
        objects=[pod(container("main", limits={"nvidia.com/gpu": 1, "cpu": "512"}), name="it")],
        cause="size",
        says="has 512 cpu: the largest has 192",
    ),
    Scene(
        name="nowhere", objects=[it(**on("moon"))], cause="selector", says=f"no node matches nodeSelector {POOL}=moon"
    ),
    Scene(name="gpu-on-cpu", objects=[it(**on("cpu"))], cause="selector", says="only nodes that lack what it asks for"),
    Scene(
        name="podberth",
        objects=[
            gpu_pod(
                1,
                name="it",
                affinity=_required(_OURS),
                annotations={APPLIED_ANNOTATION: json.dumps(_RECORD)},
            )
        ],
        before=_silent_agent,
        cause="selector",
        says="podberth's policy near requires nodes of which none fits",
        shows="the topology of free-1 is stale: its agent has been silent for ",
    ),
    Scene(name="taint", objects=[it(**on("tainted"))], cause="taint", says="is tainted team=red:NoSchedule"),
    Scene(
        name="cordon",
        objects=[it(**on("cordoned"))],
        cause="taint",
        says="the only node that could hold it is cordoned",
    ),
    Scene(
        name="not-ready",
        objects=[it(**on("down"))],
        cause="taint",
        says="the only node that could hold it is not ready",
        does="see why the node is not ready: kubectl describe node down-1",
    ),
    Scene(
        name="slices-held",
        objects=[gpu_pod(1, name="it", resource=SLICE, **on("sliced"))],
        cause="busy",
        says=f"all 7 {SLICE} that it could use are held",
        shows="free meanwhile, and enough: 1 nvidia.com/mig-2g.20gb",
        does="ask for nvidia.com/mig-2g.20gb: 1 free",
    ),
    Scene(
        name="failed-devices",
        objects=[it(4, **on("ill"))],
        cause="busy",
        says="no node has 4 nvidia.com/gpu free: the most is 2 on ill-1",
        shows="ill-1: 2 of its 8 nvidia.com/gpu are unhealthy",
        does="have its unhealthy nvidia.com/gpu repaired, which would be enough",
    ),
    Scene(
        name="preempts",
        objects=[it(priorityClassName="why-preempts", **on("ranked"))],
        before=_class,
        cause="busy",
        says="all 8 nvidia.com/gpu that it could use are held",
        shows="preemption: 1 pod of lower priority on ranked-1 holds enough",
    ),
    Scene(
        name="never-preempts",
        objects=[it(priorityClassName="why-never-preempts", **on("held"))],
        before=lambda namespace: _class(namespace, preemptionPolicy="Never"),
        cause="busy",
        says="all 8 nvidia.com/gpu that it could use are held",
        shows="preemption does not help: its PriorityClass never preempts",
    ),
    Scene(
        name="autoscaler",
        objects=[it(**on("held"))],
        before=_at_its_limit,
        cause="busy",
        says="all 8 nvidia.com/gpu that it could use are held",
        follows="cluster-autoscaler adds no node for it: 1 max node group size reached",
    ),
    Scene(
        name="busy", objects=[it(**on("held"))], cause="busy", says="all 8 nvidia.com/gpu that it could use are held"
    ),
    Scene(name="some-free", objects=[it(5, **on("parts"))], cause="busy", says="no node has 5 nvidia.com/gpu free"),
    Scene(
        name="fragments",
        objects=[it(4, **on("parts"))],
        cause="fragmented",
        says="4 nvidia.com/gpu are free, but at most 2 on one node",
    ),
    Scene(
        name="apart",
        objects=[
            pod(name="first", labels={"app": "a"}, **on("cpu")),
            pod(name="it", affinity=_beside("podAntiAffinity", "a"), **on("cpu")),
        ],
        cause="neighbours",
        says="its pod anti-affinity to pods app=a",
    ),
    Scene(
        name="together",
        objects=[pod(name="it", affinity=_beside("podAffinity", "nobody"), **on("cpu"))],
        cause="neighbours",
        says="its pod affinity to pods app=nobody",
    ),
    Scene(
        name="spread",
        objects=[
            pod(
                name="it",
                topologySpreadConstraints=[
                    {
                        "maxSkew": 1,
                        "topologyKey": "example.com/rack",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"app": "s"}},
                    }
                ],
            )
        ],
        cause="neighbours",
        says="its topology spread over example.com/rack",
    ),
)
