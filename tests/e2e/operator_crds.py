"""The real CRDs of two operators that make gangs, and an object of each. The operators themselves do not run here."""

import json
from typing import Any, TypeAlias

from controlplane.cluster import ControlPlane
from crds import crds

Document = dict[str, Any]
Crds: TypeAlias = dict[str, Document]
"""CRDs by name."""

JOBSETS, PYTORCH = "jobsets.jobset.x-k8s.io", "pytorchjobs.kubeflow.org"
_TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "i"}]}}


def operator_crds() -> Crds:
    """Return the CRDs; reading them takes seconds."""
    wanted = {JOBSETS, PYTORCH}
    found = {crd["metadata"]["name"]: crd for _, crd in crds() if crd["metadata"]["name"] in wanted}
    assert set(found) == wanted
    for crd in found.values():
        crd["spec"].pop("conversion", None)  # it leads to an operator that does not run here
    return found


def install(plane: ControlPlane, crds: Crds) -> None:
    """Install CRDs, and wait until they are served."""
    for crd in crds.values():
        plane.kubectl("create", "-f", "-", input=json.dumps(crd, default=str))
    plane.await_crds()


def job_set(name: str, namespace: str) -> Document:
    """Return a JobSet of six pods."""
    job = {"template": _TEMPLATE, "parallelism": 3, "completions": 3}
    spec = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": job}}]}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


def pytorch_job(name: str, namespace: str) -> Document:
    """Return a PyTorchJob of four pods."""
    roles = {role: {"replicas": count, "template": _TEMPLATE} for role, count in (("Master", 1), ("Worker", 3))}
    metadata = {"name": name, "namespace": namespace}
    spec = {"pytorchReplicaSpecs": roles}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}
