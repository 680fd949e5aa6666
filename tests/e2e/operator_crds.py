"""The real CRDs of three operators that make gangs, and objects of each. The operators themselves do not run here."""

import json
from http import HTTPStatus
from typing import Any, TypeAlias

from controlplane.client import CRDS
from controlplane.cluster import ControlPlane
from crds import FOLDER, crds, read

Document = dict[str, Any]
Crds: TypeAlias = dict[str, Document]
"""CRDs by name."""

JOBSETS, PYTORCH = "jobsets.jobset.x-k8s.io", "pytorchjobs.kubeflow.org"
GROVE = tuple(f"{plural}.grove.io" for plural in ("podcliquesets", "podcliquescalinggroups", "podcliques"))
_TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "i"}]}}


def operator_crds() -> Crds:
    """Return the CRDs; reading them takes seconds."""
    wanted = {JOBSETS, PYTORCH}
    found = {crd["metadata"]["name"]: crd for _, crd in crds() if crd["metadata"]["name"] in wanted}
    assert set(found) == wanted
    for crd in found.values():
        crd["spec"].pop("conversion", None)  # it leads to an operator that does not run here
    return found


def grove_crds() -> Crds:
    """Return those of Grove, the ones between the set and its pods too."""
    files = [FOLDER / "grove" / f"grove.io_{name.partition('.')[0]}.yaml" for name in GROVE]
    return {crd["metadata"]["name"]: crd for file in files for crd in read(file)}


def install(plane: ControlPlane, crds: Crds) -> None:
    """Install CRDs, and wait until they are served."""
    for crd in crds.values():
        status, said = plane.raw("POST", CRDS, json.dumps(crd, default=str).encode())
        assert status == HTTPStatus.CREATED, said
    plane.await_crds(*crds.values())


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


def pod_clique_set(name: str, namespace: str) -> Document:
    """Return a PodCliqueSet of a clique of one pod, and one of three in a scaling group."""
    cliques = [
        {"name": clique, "spec": {"roleName": clique, "replicas": replicas, "podSpec": _TEMPLATE["spec"]}}
        for clique, replicas in (("router", 1), ("decode", 3))
    ]
    groups = [{"name": "workers", "cliqueNames": ["decode"], "replicas": 2, "minAvailable": 2}]
    spec = {"replicas": 1, "template": {"cliques": cliques, "podCliqueScalingGroups": groups}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": metadata, "spec": spec}


def pod_clique(name: str, namespace: str, replicas: int) -> Document:
    """Return a PodClique; whose it is the caller says."""
    spec = {"roleName": name, "replicas": replicas, "podSpec": _TEMPLATE["spec"]}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "metadata": metadata, "spec": spec}


def scaling_group(name: str, namespace: str) -> Document:
    """Return a PodCliqueScalingGroup; whose it is the caller says."""
    spec = {"replicas": 2, "minAvailable": 2, "cliqueNames": ["decode"]}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueScalingGroup", "metadata": metadata, "spec": spec}
