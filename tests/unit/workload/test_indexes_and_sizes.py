"""Indexes and sizes as the operators' own sources have them: bounds, several Jobs, several hosts, several pods each."""

from collections.abc import Mapping
from typing import Any

import pytest

from builders import gpu_pod, job_pod, owned, workload
from named_owners import gang_of
from podberth.workload.gangs import Gang
from podberth.workload.owners import OWNER_KINDS, keep
from podberth.workload.templates import templates

JSON = dict[str, Any]


def kept(uid: str, document: JSON) -> dict[str, Any]:
    """Return an owner as whoever follows a cluster knows it."""
    [kind] = [each for each in OWNER_KINDS if (each.kind, each.group) == (document["kind"], _group(document))]
    return {uid: keep(kind, {**document, "metadata": {**document["metadata"], "uid": uid}})}


def _group(document: JSON) -> str:
    return str(document["apiVersion"]).rpartition("/")[0]


# ---- Ray -----------------------------------------------------------------------------------------------------------


def ray_worker(owner_spec: JSON | None, **labels: str) -> Gang:
    """As DefaultWorkerPodTemplate and labelPod (ray-project/kuberay ray-operator/controllers/ray/common/pod.go)."""
    said = {"cluster": "rc", "node-type": "worker", "group": "gpus", "is-ray-node": "yes", **labels}
    document = gpu_pod(8, labels={f"ray.io/{key.replace('_', '-')}": value for key, value in said.items()})
    document = owned(document, "RayCluster", api_version="ray.io/v1", name="rc", uid="ray")
    owners = {} if owner_spec is None else kept("ray", workload("ray.io/v1", "RayCluster", owner_spec))
    return gang_of(document, "default", owners)


@pytest.mark.parametrize(
    ("group", "workers"),
    [
        # the CRD's defaults, written by the API server: replicas 0, minReplicas 0, maxReplicas 2147483647
        ({"replicas": 0, "minReplicas": 4, "maxReplicas": 8}, 4),
        ({"replicas": 9, "minReplicas": 1, "maxReplicas": 4}, 4),
        ({"replicas": 3, "minReplicas": 1, "maxReplicas": 4}, 3),
        ({"replicas": 3, "minReplicas": 0, "maxReplicas": 2**31 - 1}, 3),
        ({"minReplicas": 2}, 2),
        ({"replicas": 3}, 3),
        # what the validating webhook of KubeRay refuses, in the order of GetWorkerGroupDesiredReplicas
        ({"replicas": 3, "minReplicas": 5, "maxReplicas": 4}, 5),
        ({"replicas": 9, "minReplicas": 4, "suspend": True}, 0),
        ({"replicas": 2, "minReplicas": 3, "numOfHosts": 4}, 12),
    ],
)
def test_the_replicas_of_a_worker_group_are_held_between_their_bounds(group: JSON, workers: int) -> None:
    """GetWorkerGroupDesiredReplicas (ray-project/kuberay ray-operator/controllers/ray/utils/util.go)."""
    other = {"groupName": "others", "replicas": 1}
    spec = {"workerGroupSpecs": [{"groupName": "gpus", "template": {"spec": {"containers": []}}, **group}, other]}
    assert ray_worker(spec).size == 1 + workers + 1
    cluster = workload("ray.io/v1", "RayCluster", {"headGroupSpec": {"template": {"spec": {"containers": []}}}, **spec})
    found = {each.role: each.replicas for each in templates(cluster, namespace="default")}
    assert found["gpus"] == workers


def test_a_ray_worker_says_its_number() -> None:
    """Gate RayMultiHostIndexing, beta and on by default."""
    one_host = {"workerGroupSpecs": [{"groupName": "gpus", "replicas": 4}]}
    assert ray_worker(one_host, worker_group_replica_index="3").index == 3
    assert ray_worker(None, worker_group_replica_index="3").index == 3
    assert ray_worker(one_host).index == -1


def test_a_ray_worker_of_several_hosts_is_numbered_within_its_replica() -> None:
    groups = [{"groupName": "cpus", "numOfHosts": 2}, {"groupName": "gpus", "replicas": 2, "numOfHosts": 4}]
    spec = {"workerGroupSpecs": groups}
    said = {"worker_group_replica_index": "1", "replica_host_index": "2", "worker_group_replica_name": "gpus-x7k2p"}
    assert ray_worker(spec, **said).index == 6
    assert ray_worker(None, **said).index == -1
    assert ray_worker(None, **{**said, "worker_group_replica_index": "0"}).index == 2
    assert ray_worker(spec, **{**said, "replica_host_index": "x"}).index == -1


# ---- JobSet --------------------------------------------------------------------------------------------------------


def job_set_pod(job_index: str, index: int) -> JSON:
    """As labelAndAnnotateObject (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go), on a Job's pods."""
    said = {
        "jobset-name": "llama",
        "jobset-uid": "set",
        "replicatedjob-name": "workers",
        "replicatedjob-replicas": "4",
        "job-index": job_index,
    }
    keys = {f"jobset.sigs.k8s.io/{key}": value for key, value in said.items()}
    return job_pod(index, job="llama-workers-0", labels=keys, annotations=keys)


def job_set(*jobs: JSON) -> dict[str, Any]:
    return kept("set", workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": list(jobs)}))


WORKERS = {"name": "workers", "replicas": 4, "template": {"spec": {"parallelism": 2, "completions": 2}}}


def test_pods_of_several_jobs_are_numbered_through() -> None:
    driver = {"name": "driver", "template": {"spec": {"parallelism": 5}}}
    owners = job_set(driver, WORKERS)
    found = [gang_of(job_set_pod(job, index), "default", owners).index for job in "0123" for index in (0, 1)]
    assert found == list(range(8))


def test_the_number_of_pods_of_each_job_is_from_the_pods_own_job_first() -> None:
    job = workload("batch/v1", "Job", {"parallelism": 2, "completions": 3})
    owners = {**job_set(WORKERS), **kept("job-uid", job)}
    assert gang_of(job_set_pod("3", 1), "default", owners).index == 3 * 3 + 1
    assert gang_of(job_set_pod("3", 1), "default", {}).index == -1
    assert gang_of(job_set_pod("0", 1), "default", {}).index == 1


def test_a_job_of_a_set_runs_no_more_pods_than_it_has_completions() -> None:
    """As manageJob (kubernetes pkg/controller/job/job_controller.go) wants."""
    few = {"name": "workers", "template": {"spec": {"parallelism": 4, "completions": 2}}}
    many = {"name": "workers", "template": {"spec": {"parallelism": 2, "completions": 4}}}
    none = {"name": "workers", "template": {"spec": {"parallelism": 2, "completions": None}}}
    sizes = [gang_of(job_set_pod("0", 1), "default", job_set(each)).size for each in (few, many, none)]
    assert sizes == [2, 2, 2]


# ---- RoleBasedGroup ------------------------------------------------------------------------------------------------

RBG = "rbg.workloads.x-k8s.io/"
ROLES = [
    {"name": "router", "replicas": 2, "standalonePattern": {}},
    {"name": "decode", "replicas": 2, "leaderWorkerPattern": {"size": 3}},
    {
        "name": "cache",
        "replicas": 2,
        "customComponentsPattern": {"components": [{"name": "lead", "size": 1}, {"name": "store", "size": 2}]},
    },
]
GROUP: Mapping[str, Any] = {
    **kept("group", workload("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", {"roles": ROLES})),
    "set": {"kind": "RoleInstanceSet", "metadata": {"ownerReferences": [{"controller": True, "uid": "group"}]}},
    "instance": {"kind": "RoleInstance", "metadata": {"ownerReferences": [{"controller": True, "uid": "set"}]}},
}


def role_pod(role: str, **labels: str) -> JSON:
    """As InitComponentPodLabels and updateIdentity (sgl-project/rbg pkg/reconciler)."""
    said = {"group-name": "pd", "role-name": role, **{key.replace("_", "-"): each for key, each in labels.items()}}
    document = gpu_pod(8, labels={RBG + key: value for key, value in said.items()})
    return owned(document, "RoleInstance", api_version="workloads.x-k8s.io/v1alpha2", uid="instance")


@pytest.mark.parametrize(
    ("document", "index", "alone"),
    [
        (role_pod("router", component_name="router", component_id="0", role_instance_index="1"), 1, -1),
        (
            role_pod("decode", component_name="leader", component_id="0", component_index="0", role_instance_index="0"),
            0,
            0,
        ),
        (
            role_pod("decode", component_name="worker", component_id="1", component_index="2", role_instance_index="0"),
            2,
            2,
        ),
        (
            role_pod("decode", component_name="worker", component_id="0", component_index="1", role_instance_index="1"),
            4,
            -1,
        ),
        (role_pod("cache", component_name="lead", component_id="0", role_instance_index="1"), 3, -1),
        (role_pod("cache", component_name="store", component_id="1", role_instance_index="1"), 5, -1),
        # a stateless set numbers no instance
        (role_pod("decode", component_name="worker", component_id="0", component_index="1"), -1, -1),
        (role_pod("decode", component_name="worker", component_id="x", role_instance_index="0"), -1, -1),
    ],
)
def test_a_roles_pods_are_numbered_through_its_instances(document: JSON, index: int, alone: int) -> None:
    found = gang_of(document, "default", GROUP)
    assert (found.size, found.index) == (2 + 6 + 6, index)
    assert gang_of(document, "default", {}).index == alone


# ---- Grove ---------------------------------------------------------------------------------------------------------


def test_a_clique_of_a_scaling_group_scales_with_its_group_only() -> None:
    """As determinePodCliqueReplicas (ai-dynamo/grove operator/internal/controller/podcliqueset/components/podgang)."""
    cliques = [
        {"name": "frontend", "spec": {"replicas": 1}},
        {"name": "leader", "spec": {"replicas": 1, "autoScalingConfig": {"maxReplicas": 3}}},
        {"name": "worker", "spec": {"replicas": 3}},
    ]
    groups = [{"name": "p", "cliqueNames": ["leader", "worker"], "minAvailable": 2, "replicas": 3}]
    spec = {"template": {"cliques": cliques, "podCliqueScalingGroups": groups}}
    owners = kept("set", workload("grove.io/v1alpha1", "PodCliqueSet", spec))
    owners["clique"] = {"kind": "PodClique", "metadata": {"ownerReferences": [{"controller": True, "uid": "set"}]}}
    labels = {"grove.io/podgang": "d-0", "grove.io/podclique": "d-0-frontend"}
    document = owned(gpu_pod(8, labels=labels), "PodClique", api_version="grove.io/v1alpha1", uid="clique")
    assert gang_of(document, "default", owners).size == 1 + 2 * (1 + 3)
    del groups[0]["cliqueNames"]
    assert gang_of(document, "default", kept("set", workload("grove.io/v1alpha1", "PodCliqueSet", spec))).size == 0
