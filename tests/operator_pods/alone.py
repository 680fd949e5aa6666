"""Pods that are in no gang, as they are made, by the name of who makes them."""

from builders import gpu_pod, job, job_pod, owned, workload

from .case import JSON


def _of(kind: str, **labels: str) -> JSON:
    return owned(gpu_pod(8, labels=labels), kind, api_version="apps/v1", uid="u")


def of_step() -> JSON:
    """As createWorkflowPod (argoproj/argo-workflows workflow/controller/workflowpod.go)."""
    labels = {"workflows.argoproj.io/workflow": "train-x7x", "workflows.argoproj.io/completed": "false"}
    return owned(gpu_pod(8, labels=labels), "Workflow", api_version="argoproj.io/v1alpha1", uid="u")


_QUEUE = job(gpu_pod(8), indexed=True, parallelism=4)
_QUEUE["spec"]["completions"] = 100

ALONE: tuple[tuple[str, JSON, dict[str, JSON]], ...] = (
    (
        "Job of independent tasks",
        owned(gpu_pod(8, labels={"batch.kubernetes.io/job-name": "one"}), "Job", uid="u"),
        {"u": workload("batch/v1", "Job", {"parallelism": 4, "completions": 4})},
    ),
    ("Job of independent tasks", job_pod(0, uid="u"), {"u": _QUEUE}),
    ("step of an Argo workflow", of_step(), {}),
    ("InferenceService on one node", _of("ReplicaSet", **{"serving.kserve.io/inferenceservice": "llama"}), {}),
    ("Deployment, ReplicaSet", _of("ReplicaSet", **{"pod-template-hash": "5f87f56676"}), {}),
    ("DaemonSet", _of("DaemonSet", **{"controller-revision-hash": "5f87f56676"}), {}),
    ("StatefulSet that says nothing", _of("StatefulSet", **{"apps.kubernetes.io/pod-index": "1"}), {}),
)
"""Who makes it, a pod, and what is known of its owners."""
