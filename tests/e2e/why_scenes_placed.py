"""Pods that have a node: they run, or their kubelet cannot start them."""

from typing import Any

from builders import container, pod
from podberth.topology.codec import encode_topology
from podberth.topology.node import Gpu, Links, NodeTopology

from .dra import GPU_DRIVER, device_class, resource_slice
from .why_nodes import on
from .why_scene import Scene, claim, claimed, it

Document = dict[str, Any]

_UUIDS = [f"GPU-00000000-0000-0000-0000-00000000000{number}" for number in range(4)]


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


def _has_gpus(*uuids: str, health: str = "Healthy") -> Document:
    """Return the status of a running pod to which the device plugin has given these GPUs."""
    resources = [{"resourceID": each, "health": health} for each in uuids]
    status = _starting("", last={})
    [main] = status["containerStatuses"]
    main |= {"state": {"running": {}}, "allocatedResourcesStatus": [{"name": "nvidia.com/gpu", "resources": resources}]}
    return {"containerStatuses": [main]}


def _starting(reason: str, message: str = "", *, restarts: int = 0, last: Document | None = None) -> Document:
    state = {"waiting": {"reason": reason, "message": message}}
    found: Document = {"name": "main", "image": "example.com/train:1", "imageID": "", "ready": False, "state": state}
    found |= {"restartCount": restarts, "lastState": last or {}}
    return {"phase": "Pending", "containerStatuses": [found]}


def _fetching() -> Document:
    """Return the status of a pod whose init container runs, and whose container waits for it."""
    fetch = {"name": "fetch", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    running = {**fetch, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    return {**_starting("PodInitializing"), "initContainerStatuses": [running]}


def _refused(reason: str, message: str) -> Document:
    return {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}


SCENES: tuple[Scene, ...] = (
    Scene(name="running", objects=[it()], cause="running", says="it runs on node free-1"),
    Scene(
        name="init",
        objects=[pod(name="it", init=[container("fetch")], **on("cpu"))],
        status=_fetching(),
        cause="init",
        says="init container fetch still runs, since ",
        shows="it is placed on node cpu-1",
    ),
    Scene(
        name="image",
        objects=[it()],
        status=_starting("ImagePullBackOff", "Back-off pulling image"),
        cause="image",
        says="the image of container main cannot be pulled: example.com/train:1",
    ),
    Scene(
        name="crash",
        objects=[it()],
        status=_starting("CrashLoopBackOff", restarts=4, last={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
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
        objects=[claim("pair", "pair.nvidia.com", count=2), claimed("claimed", resourceClaimName="pair")],
        before=_pair_of_claims,
        cause="unlinked",
        says="it runs on node claimed-1, but the 2 GPUs of container main are in 2 link domains: GPU 0 and GPU 2",
    ),
    Scene(
        name="architecture",
        objects=[it()],
        status=_starting("RunContainerError", 'exec: "/app": exec format error'),
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
)
