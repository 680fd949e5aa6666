"""Pods, workloads and AdmissionReviews for tests: as small as a manifest in documentation, and typed.

Everything returned is a fresh plain document that a test may change. Builders fill in what the apiserver insists on and
nothing else: what a test is about stands in the test. Nodes are made in ``node_builders``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.build import pod_groups_version
from podberth.workload.owners import OWNER_KINDS

JSON = dict[str, Any]

IMAGE = "nvcr.io/nvidia/cuda:13.0.1-base-ubuntu24.04"


def container(
    name: str = "main",
    *,
    limits: Mapping[str, Any] | None = None,
    requests: Mapping[str, Any] | None = None,
    claims: Sequence[str] = (),
    **fields: Any,
) -> JSON:
    """Return a container; ``claims`` are names of the pod's resource claims, ``fields`` its further fields."""
    resources: JSON = {}
    if limits is not None:
        resources["limits"] = dict(limits)
    if requests is not None:
        resources["requests"] = dict(requests)
    if claims:
        resources["claims"] = [{"name": claim} for claim in claims]
    body: JSON = {"name": name, "image": IMAGE, **fields}
    return {**body, "resources": resources} if resources else body


def gpu_container(name: str = "main", gpus: Any = 1, *, resource: str = "nvidia.com/gpu", **fields: Any) -> JSON:
    """Return a container that asks for ``gpus`` of ``resource`` in its limits."""
    return container(name, limits={resource: gpus}, **fields)


def sidecar(name: str = "proxy", *, limits: Mapping[str, Any] | None = None, **fields: Any) -> JSON:
    """Return a native sidecar, to stand among init containers."""
    return container(name, limits=limits, restartPolicy="Always", **fields)


def pod(
    *containers: JSON,
    name: str = "pod",
    init: Sequence[JSON] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> JSON:
    """Return a Pod of these containers, one without resources when none is given; ``spec`` holds further fields."""
    metadata: JSON = {"name": name, "namespace": "default"}
    if labels is not None:
        metadata["labels"] = dict(labels)
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    body: JSON = {"containers": list(containers) or [container()], **spec}
    if init:
        body["initContainers"] = list(init)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def gpu_pod(gpus: Any = 1, *, resource: str = "nvidia.com/gpu", name: str = "pod", **fields: Any) -> JSON:
    """Return a Pod of one container with ``gpus`` of ``resource``; ``fields`` as in ``pod``."""
    return pod(gpu_container("main", gpus, resource=resource), name=name, **fields)


def owned(document: JSON, kind: str, *, api_version: str = "", name: str = "work", uid: str = "uid-1") -> JSON:
    """Return the Pod with a controlling owner; where no version is said, the first in which podberth reads the kind."""
    api_version = api_version or next((each.api_versions[0] for each in OWNER_KINDS if each.kind == kind), "batch/v1")
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [reference]}}


def job_pod(index: int = 0, *, job: str = "train", uid: str = "job-uid", **fields: Any) -> JSON:
    """Return a Pod as the Job controller makes it for one index of an Indexed Job."""
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": job,
        "batch.kubernetes.io/job-completion-index": str(index),
        **fields.pop("labels", {}),
    }
    annotations = {"batch.kubernetes.io/job-completion-index": str(index), **fields.pop("annotations", {})}
    made = gpu_pod(fields.pop("gpus", 1), labels=labels, annotations=annotations, restartPolicy="Never", **fields)
    del made["metadata"]["name"]
    made["metadata"]["generateName"] = f"{job}-{index}-"
    return owned(made, "Job", name=job, uid=uid)


def template(document: JSON) -> JSON:
    """Return a Pod as a pod template: its spec, and of its metadata the labels and annotations."""
    metadata = {key: value for key, value in document["metadata"].items() if key in {"labels", "annotations"}}
    return {"metadata": metadata, "spec": document["spec"]}


def workload(api_version: str, kind: str, spec: Mapping[str, Any], *, name: str = "work") -> JSON:
    """Return any namespaced workload."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def deployment(document: JSON, *, name: str = "serve", replicas: int = 1) -> JSON:
    """Return a Deployment of the Pod, selected by the label ``app``."""
    made = _labelled(template(document), name)
    return workload("apps/v1", "Deployment", {"replicas": replicas, **_selected(name), "template": made}, name=name)


def stateful_set(document: JSON, *, name: str = "shard", replicas: int = 1) -> JSON:
    """Return a StatefulSet of the Pod, selected by the label ``app``."""
    made = _labelled(template(document), name)
    spec = {"replicas": replicas, "serviceName": name, **_selected(name), "template": made}
    return workload("apps/v1", "StatefulSet", spec, name=name)


def job(document: JSON, *, name: str = "train", indexed: bool = False, parallelism: int = 1) -> JSON:
    """Return a Job of the Pod; its pods never restart, which a Job insists on saying."""
    made = template(document)
    made["spec"] = {"restartPolicy": "Never", **made["spec"]}
    spec: JSON = {"parallelism": parallelism, "completions": parallelism, "template": made}
    if indexed:
        spec["completionMode"] = "Indexed"
        made["spec"]["subdomain"] = name  # by which its pods find each other
    return workload("batch/v1", "Job", spec, name=name)


def cron_job(document: JSON, *, name: str = "nightly", schedule: str = "0 3 * * *") -> JSON:
    """Return a CronJob of the Pod."""
    return workload(
        "batch/v1", "CronJob", {"schedule": schedule, "jobTemplate": {"spec": job(document)["spec"]}}, name=name
    )


def pod_group(name: str, min_count: int, level: str = "") -> JSON:
    """Return a native PodGroup whose members all start or none, in one domain of the node label ``level`` if any."""
    constraints = {"schedulingConstraints": {"topology": [{"key": level}]}} if level else {}
    return {
        "apiVersion": pod_groups_version(),
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, **constraints},
    }


def review(
    document: JSON | None,
    operation: str = "CREATE",
    *,
    old: JSON | None = None,
    namespace: str = "default",
    **fields: Any,
) -> JSON:
    """Return the AdmissionReview v1 that the apiserver sends for a Pod; ``fields`` are the request's further fields."""
    subject: JSON = document or old or {}
    metadata = subject.get("metadata") or {}
    request: JSON = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": metadata.get("name", ""),
        "namespace": namespace,
        "operation": operation,
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": document,
        "oldObject": old,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.title()}Options"},
        **fields,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def review_text(document: JSON) -> bytes:
    """Return a review as the API server writes it, its objects behind all other fields but two."""
    request = document["request"]
    last = [key for key in ("object", "oldObject", "dryRun", "options") if key in request]
    document = document | {"request": {key: request[key] for key in (*(request.keys() - {*last}), *last)}}
    return json.dumps(document, separators=(",", ":")).encode()


def workload_review(document: JSON, resource: str, operation: str = "CREATE", **fields: Any) -> JSON:
    """Return the AdmissionReview v1 for a workload, whose plural is ``resource``: ``deployments``."""
    group, _, version = document["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": document["kind"]}
    plural = {"group": group, "version": version, "resource": resource}
    kinds: JSON = {"kind": kind, "resource": plural, "requestKind": kind, "requestResource": plural}
    return review(document, operation, **kinds, **fields)


def _labelled(made: JSON, app: str) -> JSON:
    metadata = made["metadata"]
    return {**made, "metadata": {**metadata, "labels": {"app": app, **metadata.get("labels", {})}}}


def _selected(app: str) -> JSON:
    return {"selector": {"matchLabels": {"app": app}}}
