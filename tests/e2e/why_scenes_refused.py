"""Workloads whose pods are refused, or not wanted now."""

from typing import Any

from builders import container, deployment, gpu_pod, job, pod

from .why_scene import Scene, document

Document = dict[str, Any]

_QUOTA = document("v1", "ResourceQuota", "team", {"hard": {"requests.nvidia.com/gpu": "1"}})
_LIMITS = document("v1", "LimitRange", "small", {"limits": [{"type": "Container", "max": {"cpu": "1"}}]})
_BIG_CPU = pod(container("main", limits={"cpu": "2", "memory": "1Gi"}), name="it")


def refused_job(name: str, says: str, made: Document, *beside: Document) -> Scene:
    """Return the scene of a Job whose pods are refused."""
    return Scene(name=name, objects=[*beside, made], asked="job/train", cause="refused", says=says)


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


def _refused_by_operator(namespace: str) -> list[Document]:
    """Return the Event by which the Training Operator says that the pod of a PyTorchJob was refused."""
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "refused", "namespace": namespace},
        "involvedObject": {"kind": "PyTorchJob", "name": "train", "namespace": namespace},
        "type": "Warning",
        "reason": "FailedCreatePod",
        "message": 'Error creating: pods "train-worker-0" is forbidden: exceeded quota: team',
    }
    return [event]


def _suspended(made: Document) -> Document:
    return {**made, "spec": {**made["spec"], "suspend": True}}


SCENES: tuple[Scene, ...] = (
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
        name="operator",
        objects=[_QUOTA],
        before=_refused_by_operator,
        asked="pytorchjob/train",
        cause="refused",
        says="ResourceQuota team is used up",
    ),
    Scene(
        name="suspended",
        objects=[_suspended(job(gpu_pod(1)))],
        asked="job/train",
        cause="suspended",
        says="Job train is suspended",
    ),
)
