"""What a kubelet would report: pure functions from objects to status documents."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Document = Mapping[str, Any]

# A pod with this annotation ends as Succeeded that many seconds after its start.
RUN_SECONDS_ANNOTATION = "podberth.test/run-seconds"

# What a node that names less is given: more than any test's pods ask for, so that GPUs are what runs out.
# 110 pods is the kubelet's own default (--max-pods).
_CAPACITY = {"cpu": "192", "memory": "2Ti", "ephemeral-storage": "10Ti", "pods": "110"}


def gpu_node(name: str, *, gpus: int = 8, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the manifest of a node that offers `gpus` as nvidia.com/gpu (none: a node without GPUs)."""
    capacity = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "status": {"capacity": capacity},
    }


def complete_node(manifest: Document, now: datetime) -> dict[str, Any]:
    """Return the manifest with what a kubelet adds at registration: hostname label, capacity, Ready, addresses."""
    metadata, status = manifest["metadata"], manifest.get("status", {})
    name = metadata["name"]
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    capacity = {**_CAPACITY, **status.get("capacity", status.get("allocatable", {}))}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        **manifest,
        "metadata": {**metadata, "labels": {**labels, **metadata.get("labels", {})}},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": name}],
            **status,
            "capacity": capacity,
            "allocatable": {**capacity, **status.get("allocatable", {})},
            "conditions": status.get("conditions") or [ready_condition(now)],
        },
    }


def ready_condition(now: datetime) -> dict[str, Any]:
    """Return the node condition of a healthy kubelet."""
    return {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "simulated",
        "lastHeartbeatTime": timestamp(now),
        "lastTransitionTime": timestamp(now),
    }


def is_lost(node: Document) -> bool:
    """Return whether the node-lifecycle controller has given the node up, which a heartbeat takes back.

    A Ready condition that says False is someone's wish (a test's) and stays.
    """
    conditions = node.get("status", {}).get("conditions", [])
    return any(found["type"] == "Ready" and found["status"] == "Unknown" for found in conditions)


def running_status(pod: Document, pod_ip: str, now: datetime) -> dict[str, Any]:
    """Return the status of a pod whose containers have all started; its init containers are done."""
    spec, started = pod["spec"], {"running": {"startedAt": timestamp(now)}}
    done = _terminated(now, now)
    types = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "startTime": timestamp(now),
        "observedGeneration": pod["metadata"].get("generation", 0),
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "conditions": [_condition(type_, "True", now) for type_ in types],
        "initContainerStatuses": [
            # restartPolicy Always makes it a sidecar, which goes on. One that is done counts as ready.
            _container(container, started if container.get("restartPolicy") == "Always" else done, ready=True)
            for container in spec.get("initContainers", [])
        ],
        "containerStatuses": [_container(each, started, ready=True) for each in spec["containers"]],
    }


def succeeded_status(pod: Document, now: datetime) -> dict[str, Any]:
    """Return the status of a running pod whose containers have all ended with exit code 0."""
    started = datetime.fromisoformat(pod["status"]["startTime"])
    done = _terminated(started, now)
    reason = {"reason": "PodCompleted"}
    return {
        "phase": "Succeeded",
        "conditions": [
            {**_condition("ContainersReady", "False", now), **reason},
            {**_condition("Ready", "False", now), **reason},
        ],
        "initContainerStatuses": [_container(each, done, ready=True) for each in pod["spec"].get("initContainers", [])],
        "containerStatuses": [_container(each, done, ready=False) for each in pod["spec"]["containers"]],
    }


def seconds_to_run(pod: Document, now: datetime) -> float | None:
    """Return how long a running pod has still to run, or None where it runs until it is deleted."""
    asked = pod["metadata"].get("annotations", {}).get(RUN_SECONDS_ANNOTATION)
    if asked is None:
        return None
    try:
        lasts = timedelta(seconds=float(asked))
    except ValueError:
        return None
    started = datetime.fromisoformat(pod["status"]["startTime"])
    return max(0.0, (started + lasts - now).total_seconds())


def timestamp(now: datetime) -> str:
    """Return metav1.Time's form."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _terminated(started: datetime, now: datetime) -> dict[str, Any]:
    times = {"startedAt": timestamp(started), "finishedAt": timestamp(now)}
    return {"terminated": {"exitCode": 0, "reason": "Completed", **times}}


def _condition(type_: str, status: str, now: datetime) -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": timestamp(now)}


def _container(container: Document, state: Document, *, ready: bool) -> dict[str, Any]:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "containerID": f"simulated://{container['name']}",
        "ready": ready,
        "started": "running" in state,
        "restartCount": 0,
        "state": dict(state),
    }
