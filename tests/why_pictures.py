"""Pictures of small clusters for `podberth why`: a waiting pod, nodes, and the pods on them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from controlplane.kubelet import complete_node, gpu_node
from podberth.kube.protobuf_pods import PodListReader
from podberth.why.causes import answer, wanted
from podberth.why.diagnosis import Answer
from podberth.why.picture import ALL_PODS, NotRead, Picture, Ref
from protobuf_answers import sent

Document = dict[str, Any]

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
CREATED = "2026-01-31T11:48:00Z"
NO_NODE = "0/1 nodes are available: "


def node(name: str, *, gpus: int = 8, labels: Mapping[str, str] | None = None, **fields: Any) -> Document:
    """Return a ready node; ``fields`` are its further ``spec``, ``capacity`` and ``allocatable``."""
    made = gpu_node(name, gpus=gpus, labels=labels)
    made["status"]["allocatable"] = fields.get("allocatable", {})
    made["status"]["capacity"] |= fields.get("capacity", {})
    return complete_node({**made, "spec": fields.get("spec", {})}, NOW)


def waiting(pod: Document, message: str = "", reason: str = "Unschedulable") -> Document:
    """Return the pod as the API server has it, with this message of the scheduler; empty: no condition yet."""
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    made = {**pod, "metadata": {**pod["metadata"], "creationTimestamp": CREATED}}
    return {**made, "status": {"phase": "Pending", "conditions": [condition] if message else []}}


def placed(pod: Document, on: str, **status: Any) -> Document:
    """Return the pod on a node, running for half an hour unless ``status`` says otherwise."""
    condition = {"type": "PodScheduled", "status": "True"}
    running = {"phase": "Running", "startTime": "2026-01-31T11:30:00Z", "conditions": [condition], **status}
    made = {**pod["metadata"], "creationTimestamp": "2026-01-31T11:29:00Z"}
    spec = {"schedulerName": "default-scheduler", **pod["spec"], "nodeName": on}
    return {**pod, "metadata": made, "spec": spec, "status": running}


def picture(pod: Document | None, *nodes: Document, pods: Sequence[Document] = (), **fields: Any) -> Picture:
    """Return the picture of a cluster; what causes ask for does not exist but for ``read``."""
    name = fields.pop("name", pod["metadata"]["name"] if pod else "train")
    found = Picture(
        now=NOW,
        namespace="default",
        kind=fields.pop("kind", "pod"),
        name=name,
        pod=pod,
        nodes=nodes,
        **fields,
    )
    # A cause finds what it reads of other pods only if podberth's table declares it.
    listed = PodListReader().feed(sent("PodList", {"items": pods}))
    known: dict[Ref, Any] = {ALL_PODS: {"items": listed}, **found.read}
    for _ in range(4):
        seen = Picture(**{**vars_of(found), "read": known})
        known |= {ref: None if ref.name else {"items": []} for ref in wanted(seen)}
    return Picture(**{**vars_of(found), "read": known})


def vars_of(found: Picture) -> dict[str, Any]:
    """Return the fields of a picture."""
    names = ("now", "namespace", "kind", "name", "pod", "controllers", "siblings", "nodes", "read")
    return {name: getattr(found, name) for name in names}


def why(pod: Document | None, *nodes: Document, pods: Sequence[Document] = (), **fields: Any) -> Answer:
    """Return the answer about a picture."""
    return answer(picture(pod, *nodes, pods=pods, **fields))


def forbidden(want: str) -> NotRead:
    """Return what stands for something that the user may not read."""
    return NotRead(want, "forbidden")
