"""Pods for which no node is fit or free, or not beside the pods on it."""

import json
from typing import Any

from builders import container, gpu_pod, pod
from podberth.wellknown import APPLIED_ANNOTATION, NAMESPACE, TOPOLOGY_LABEL

from .why_nodes import HOSTNAME, POOL, on
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
