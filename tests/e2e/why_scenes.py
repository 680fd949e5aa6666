"""Pods and workloads that wait, each for one planted cause, on the cluster of ``why_nodes``.

Every scene has a namespace of its own, and chooses its node by the label ``pool``, so that none takes room of another.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from builders import container, deployment, gpu_pod, job, pod, pod_group
from podberth.topology.codec import encode_topology
from podberth.topology.node import Gpu, Links, NodeTopology
from podberth.wellknown import APPLIED_ANNOTATION, NAMESPACE, TOPOLOGY_LABEL

from .dra import GPU_DRIVER, device_class, resource_slice
from .why_nodes import BLOCK, HOSTNAME, POOL, ZONE, on

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One planted cause."""

    name: str
    objects: Sequence[Document]
    cause: str
    """The cause that has to be first."""
    says: str
    """Words of its first line."""
    shows: str = ""
    """A line of its evidence, or a part of one; empty: none is looked for."""
    asked: str = "it"
    status: Mapping[str, Any] | None = None
    """The status that the pod gets once it runs; None: it is left alone."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the namespace."""
    shared: bool = False
    """Whether it needs the CRDs of ../shared."""
    before: Callable[[str], Sequence[Document]] = lambda _: ()
    """Cluster-scoped objects, and whatever has to be there first, from the name of the namespace."""


def it(gpus: int = 1, **fields: Any) -> Document:
    """Return the pod that most scenes ask about; without a choice of its own it is for the pool ``free``."""
    return gpu_pod(gpus, name="it", **{**on("free"), **fields})


def refused_job(name: str, says: str, made: Document, *beside: Document) -> Scene:
    """Return the scene of a Job whose pods are refused."""
    return Scene(name=name, objects=[*beside, made], asked="job/train", cause="refused", says=says)


def _claimed(pool: str = "cpu", name: str = "it", **entry: str) -> Document:
    used = container("main", claims=["gpu"])
    return pod(used, name=name, resourceClaims=[{"name": "gpu", **entry}], **on(pool))


def _mounted(claim: str, **fields: Any) -> Document:
    return it(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}], **fields)


def _pvc(name: str, **spec: Any) -> Document:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {**wanted, "storageClassName": "", **spec},
    }


def _volume_in_zone_a(namespace: str) -> list[Document]:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/data"},
        "claimRef": {"namespace": namespace, "name": "there"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    return [{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": namespace}, "spec": spec}]


def _refused_by_policy(namespace: str) -> list[Document]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    group = "admissionregistration.k8s.io/v1"
    return [
        {
            "apiVersion": group,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": namespace},
            "spec": {
                "matchConstraints": {"resourceRules": [rule], "namespaceSelector": only_here},
                "validations": [{"expression": "false", "message": "no pods today"}],
            },
        },
        {
            "apiVersion": group,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": namespace},
            "spec": {"policyName": namespace, "validationActions": ["Deny"]},
        },
    ]


def _object(version: str, kind: str, name: str, spec: Document) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _claim(name: str, device_class: str, **exactly: Any) -> Document:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": device_class, **exactly}}]
    return _object("resource.k8s.io/v1", "ResourceClaim", name, {"devices": {"requests": requests}})


def _devices_held(namespace: str) -> list[Document]:
    """Return a node's only GPU, and the pod that has it: it comes before the pod that waits."""
    pods = [_claim("taken", "gpu.nvidia.com"), _claimed("dra", "holder", resourceClaimName="taken")]
    for each in pods:
        each["metadata"]["namespace"] = namespace
    return [device_class("gpu.nvidia.com", GPU_DRIVER), resource_slice("dra-1", GPU_DRIVER, "pci0000:00"), *pods]


def _linked_in_pairs(node: str) -> list[Document]:
    """Return the topology document of a node with four GPUs that are linked in pairs."""
    links = Links(shape="islands", domains=((0, 1), (2, 3)))
    gpus = tuple(Gpu(index=index, uuid=uuid) for index, uuid in enumerate(_UUIDS))
    return [encode_topology(node, NodeTopology(gpus=gpus, links=links))]


def _pair_of_claims(_: str) -> list[Document]:
    """Return a node's two GPUs of different link domains, and the class of them."""
    slices = resource_slice("claimed-1", GPU_DRIVER, "pci0000:00", "pci0000:00")
    for device, uuid in zip(slices["spec"]["devices"], (_UUIDS[0], _UUIDS[2]), strict=True):
        device["attributes"]["uuid"] = {"string": uuid}
    return [device_class("pair.nvidia.com", GPU_DRIVER), slices, *_linked_in_pairs("claimed-1")]


def _silent_agent(_: str) -> list[Document]:
    lease = {"renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 90}
    made = _object("coordination.k8s.io/v1", "Lease", "free-1", lease)
    made["metadata"] |= {"namespace": NAMESPACE, "labels": {TOPOLOGY_LABEL: "v1"}}
    return [made]


def _ring(name: str, size: int, level: str) -> list[Document]:
    """Return a group of pods with four GPUs each, which have to be in one domain of a level."""
    names = ("it", *(f"m{number}" for number in range(1, size)))
    pods = [gpu_pod(4, name=each, schedulingGroup={"podGroupName": name}, **on("racks")) for each in names]
    return [pod_group(name, size, level), *pods]


def _has_gpus(*uuids: str, health: str = "Healthy") -> Document:
    """Return the status of a running pod to which the device plugin has given these GPUs."""
    resources = [{"resourceID": each, "health": health} for each in uuids]
    status = _waiting("", last={})
    [main] = status["containerStatuses"]
    main |= {"state": {"running": {}}, "allocatedResourcesStatus": [{"name": "nvidia.com/gpu", "resources": resources}]}
    return {"containerStatuses": [main]}


def _suspended(made: Document) -> Document:
    return {**made, "spec": {**made["spec"], "suspend": True}}


def _required(*expressions: Document) -> Document:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _beside(kind: str, app: str, key: str = HOSTNAME) -> Document:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _waiting(reason: str, message: str = "", *, restarts: int = 0, last: Document | None = None) -> Document:
    state = {"waiting": {"reason": reason, "message": message}}
    found: Document = {"name": "main", "image": "example.com/train:1", "imageID": "", "ready": False, "state": state}
    found |= {"restartCount": restarts, "lastState": last or {}}
    return {"phase": "Pending", "containerStatuses": [found]}


_UUIDS = [f"GPU-00000000-0000-0000-0000-00000000000{number}" for number in range(4)]


def _refused(reason: str, message: str) -> Document:
    return {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}


_OURS = {"key": "example.com/rank", "operator": "In", "values": ["first"]}
_RECORD = {"near": {"nodeAffinity": {"required": [{"matchExpressions": [_OURS]}]}}}
_GPU_CLASS = _object("resource.k8s.io/v1", "DeviceClass", "gpu.example.com", {})
_QUOTA = _object("v1", "ResourceQuota", "team", {"hard": {"requests.nvidia.com/gpu": "1"}})
_LIMITS = _object("v1", "LimitRange", "small", {"limits": [{"type": "Container", "max": {"cpu": "1"}}]})
_BIG_CPU = pod(container("main", limits={"cpu": "2", "memory": "1Gi"}), name="it")
_QUEUED = {"kueue.x-k8s.io/queue-name": "team"}
_KUEUE_GATE = [{"name": "kueue.x-k8s.io/admission"}]

SCENES: tuple[Scene, ...] = (
    # ---- refused at their creation, or not wanted
    refused_job("quota", "ResourceQuota team is used up", job(gpu_pod(2)), _QUOTA),
    refused_job("limits", "a LimitRange", job(_BIG_CPU), _LIMITS),
    refused_job("priority", "PriorityClass urgent does not exist", job(gpu_pod(1, priorityClassName="urgent"))),
    refused_job("account", "ServiceAccount robot does not exist", job(gpu_pod(1, serviceAccountName="robot"))),
    Scene(
        name="policy",
        objects=[deployment(gpu_pod(1))],
        before=_refused_by_policy,
        asked="deployment/serve",
        cause="refused",
        says="no pods today",
    ),
    Scene(
        name="security",
        objects=[deployment(gpu_pod(1))],
        labels={"pod-security.kubernetes.io/enforce": "restricted"},
        asked="serve",
        cause="refused",
        says="Pod Security",
    ),
    Scene(
        name="suspended",
        objects=[_suspended(job(gpu_pod(1)))],
        asked="job/train",
        cause="suspended",
        says="Job train is suspended",
    ),
    # ---- not pending at all
    Scene(name="running", objects=[it()], cause="running", says="it runs on node free-1"),
    Scene(
        name="image",
        objects=[it()],
        status=_waiting("ImagePullBackOff", "Back-off pulling image"),
        cause="image",
        says="the image of container main cannot be pulled: example.com/train:1",
    ),
    Scene(
        name="crash",
        objects=[it()],
        status=_waiting("CrashLoopBackOff", restarts=4, last={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
        cause="crash",
        says="restarted 4 times",
    ),
    Scene(
        name="unhealthy",
        objects=[it()],
        status=_has_gpus(_UUIDS[0], health="Unhealthy"),
        cause="unhealthy device",
        says="it runs on node free-1, but a device of it is unhealthy",
        shows=f"unhealthy: nvidia.com/gpu {_UUIDS[0]} of container main",
    ),
    Scene(
        name="unlinked",
        objects=[it(2)],
        before=lambda _: _linked_in_pairs("free-1"),
        status=_has_gpus(_UUIDS[1], _UUIDS[2]),
        cause="unlinked",
        says="it runs on node free-1, but the 2 GPUs of container main are in 2 link domains: GPU 1 and GPU 2",
    ),
    Scene(
        name="unlinked-claim",
        objects=[_claim("pair", "pair.nvidia.com", count=2), _claimed("claimed", resourceClaimName="pair")],
        before=_pair_of_claims,
        cause="unlinked",
        says="it runs on node claimed-1, but the 2 GPUs of container main are in 2 link domains: GPU 0 and GPU 2",
    ),
    Scene(
        name="architecture",
        objects=[it()],
        status=_waiting("RunContainerError", 'exec: "/app": exec format error'),
        cause="architecture",
        says="container main cannot run on node free-1, which is amd64",
    ),
    Scene(
        name="alignment",
        objects=[it()],
        status=_refused("TopologyAffinityError", "Resources cannot be allocated with Topology locality"),
        cause="alignment",
        says="the kubelet of node free-1 refused it: its Topology Manager finds no NUMA nodes",
    ),
    Scene(
        name="shares",
        objects=[it()],
        status=_refused(
            "UnexpectedAdmissionError",
            "Allocate failed due to rpc error: code = Unknown desc = request for 'nvidia.com/gpu: 2' too large: "
            "maximum request size for shared resources is 1, which is unexpected",
        ),
        cause="rejected",
        says="its nvidia.com/gpu is shared (time-slicing or MPS), and a container may ask for 1",
    ),
    # ---- before any node is looked at
    Scene(
        name="gate",
        objects=[it(schedulingGates=[{"name": "example.com/hold"}])],
        cause="gate",
        says="scheduling gate example.com/hold of example.com",
    ),
    Scene(
        name="scheduler", objects=[it(schedulerName="volcano")], cause="scheduler", says="no scheduler named volcano"
    ),
    Scene(name="no-volume", objects=[_mounted("data")], cause="volume", says="PersistentVolumeClaim data does not"),
    Scene(
        name="unbound",
        objects=[_pvc("data"), _mounted("data")],
        cause="volume",
        says="PersistentVolumeClaim data is not bound",
    ),
    Scene(
        name="no-class",
        objects=[_pvc("data", storageClassName="fast"), _mounted("data")],
        cause="volume",
        says="no PersistentVolume of class fast fits it, and no StorageClass fast provides one",
    ),
    Scene(
        name="volume-zone",
        objects=[_pvc("there", volumeName="why-volume-zone"), _mounted("there", **on("zoned"))],
        before=_volume_in_zone_a,
        cause="volume zone",
        says="its volume there is only on nodes with topology.kubernetes.io/zone=a",
    ),
    Scene(
        name="no-claim",
        objects=[_claimed(resourceClaimName="gone")],
        cause="claim",
        says="ResourceClaim gone does not exist",
    ),
    Scene(
        name="no-template",
        objects=[_claimed(resourceClaimTemplateName="gone")],
        cause="claim",
        says="ResourceClaimTemplate gone does not exist",
    ),
    Scene(
        name="unallocated",
        objects=[_claim("free", "gpu.example.com"), _claimed(resourceClaimName="free")],
        before=lambda _: [_GPU_CLASS],
        cause="claim unallocated",
        says="has free devices for ResourceClaim free",
    ),
    Scene(
        name="claims-held",
        objects=[_claim("wanted", "gpu.nvidia.com"), _claimed("dra", resourceClaimName="wanted")],
        before=_devices_held,
        cause="claim unallocated",
        says="has free devices for ResourceClaim wanted",
        shows="dra-1: 0 of 1 gpu.nvidia.com free; held by why-claims-held/holder (1)",
    ),
    # ---- no node for it at all
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
    # ---- nodes that are not free
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
    # ---- groups and queues
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
            _object(
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
            _object("kueue.x-k8s.io/v1beta2", "LocalQueue", "others", {"clusterQueue": "all"}),
            it(labels=_QUEUED, schedulingGates=_KUEUE_GATE),
        ],
        cause="queue",
        says="got team, no LocalQueue",
        shared=True,
    ),
    # ---- beside other pods
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
"""Every planted cause."""
