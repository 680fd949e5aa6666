"""Gangs of which some members are made only when others run, as what is kept of their owners says."""

from typing import Any

import pytest

from builders import gpu_pod, owned, workload
from named_owners import gang_of
from operator_pods.batch import of_job_set, of_set, of_spark
from operator_pods.serving import of_lws, of_rbg
from operator_pods.training import of_mpi, of_ray
from podberth.workload.owners import OWNER_KINDS, keep

JSON = dict[str, Any]


def kept(api_version: str, kind: str, spec: JSON) -> dict[str, JSON]:
    """Return what a snapshot has of an owner whose uid is "u"."""
    document = workload(api_version, kind, spec)
    [read_as] = [each for each in OWNER_KINDS if (each.group, each.kind) == (api_version.partition("/")[0], kind)]
    found = keep(read_as, {**document, "metadata": {**document["metadata"], "uid": "u"}})
    assert found is not None
    return {"u": found}


def jobs(*after: str, **more: Any) -> dict[str, JSON]:
    first: JSON = {"name": "initializer", "template": {"spec": {}}}
    waits = [{"name": each, "status": "Complete"} for each in after]
    then = {"name": "node", "template": {"spec": {"parallelism": 4}}, "dependsOn": waits}
    return kept("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [first, then], **more})


def roles(*after: str) -> dict[str, JSON]:
    said = [{"name": "router"}, {"name": "decode", "replicas": 2, "dependencies": list(after)}]
    return kept("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", {"roles": said})


def mpi(**more: str) -> dict[str, JSON]:
    specs = {"Launcher": {}, "Worker": {"replicas": 2}}
    return kept("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": specs, **more})


def set_of(**spec: Any) -> dict[str, JSON]:
    return kept("apps/v1", "StatefulSet", spec)


def lws(**spec: Any) -> dict[str, JSON]:
    """Return a LeaderWorkerSet, and the leaders' StatefulSet that leads to it, as its controller makes that."""
    leaders = kept("apps/v1", "StatefulSet", {"replicas": 2, "podManagementPolicy": "Parallel"})["u"]
    leaders["metadata"]["ownerReferences"] = [{"controller": True, "uid": "u"}]
    return {"set": leaders, **kept("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)}


ORDERED = "spec.podManagementPolicy OrderedReady; want Parallel"
OF_ROLES = owned(of_rbg("decode", 8), "RoleBasedGroup", api_version="workloads.x-k8s.io/v1alpha2", uid="u")
EXECUTORS = kept("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 3}})


@pytest.mark.parametrize(
    ("document", "owners", "field"),
    [
        (of_job_set("node", 0), jobs("initializer"), "spec.replicatedJobs[].dependsOn"),
        (
            of_job_set("node", 0),
            jobs(startupPolicy={"startupPolicyOrder": "InOrder"}),
            "spec.startupPolicy.startupPolicyOrder InOrder",
        ),
        (of_job_set("node", 0), jobs(startupPolicy={"startupPolicyOrder": "AnyOrder"}), ""),
        (of_job_set("node", 0), jobs(), ""),
        (of_job_set("node", 0), {}, ""),
        (
            of_mpi("worker", 0),
            mpi(launcherCreationPolicy="WaitForWorkersReady"),
            "spec.launcherCreationPolicy WaitForWorkersReady",
        ),
        (of_mpi("worker", 0), mpi(launcherCreationPolicy="AtStartup"), ""),
        (of_mpi("worker", 0), mpi(), ""),
        (of_spark("driver"), EXECUTORS, "spec.executor"),
        (of_spark("executor", 1), {}, "spec.executor"),
        (gpu_pod(1, labels={"spark-app-selector": "s", "spark-role": "executor"}), {}, ""),
        (OF_ROLES, roles("router"), "spec.roles[].dependencies"),
        (OF_ROLES, roles(), ""),
        (of_set(1), set_of(replicas=4), ORDERED),
        (of_set(1), set_of(replicas=4, podManagementPolicy="OrderedReady"), ORDERED),
        (of_set(1), set_of(replicas=4, podManagementPolicy="Parallel"), ""),
        (of_set(0), set_of(replicas=1), ""),
        (of_set(0), set_of(), ""),
        (of_set(0), {}, ""),
        (of_lws(0), lws(startupPolicy="LeaderReady"), "spec.startupPolicy LeaderReady; want LeaderCreated"),
        (of_lws(0), lws(startupPolicy="LeaderCreated"), ""),
        (of_lws(0), lws(), ""),
    ],
)
def test_what_starts_in_stages_names_the_field_that_says_so(document: JSON, owners: JSON, field: str) -> None:
    found = gang_of(document, "default", owners)
    assert found.known
    assert found.staged == field


def test_one_job_alone_has_no_order() -> None:
    spec = {"replicatedJobs": [{"name": "node"}], "startupPolicy": {"startupPolicyOrder": "InOrder"}}
    assert not gang_of(of_job_set("node", 0), "default", kept("jobset.x-k8s.io/v1alpha2", "JobSet", spec)).staged


def test_a_label_that_names_one_role_says_who_comes_together() -> None:
    document = of_job_set("node", 0)
    owners = jobs("initializer")
    name = gang_of(document, "default", owners).name
    document["metadata"]["labels"]["podberth.io/gang"] = "nodes"
    assert not gang_of(document, "default", owners).staged
    document["metadata"]["labels"]["podberth.io/gang"] = name
    assert gang_of(document, "default", owners).staged


def test_of_a_set_whose_pods_are_all_alike_a_label_names_all_of_them() -> None:
    document = of_set(0)
    document["metadata"]["labels"]["podberth.io/gang"] = "shards"
    found = gang_of(document, "default", set_of(replicas=4))
    assert (found.source, found.size, found.staged) == ("label", 4, ORDERED)


def test_a_worker_group_of_a_ray_cluster_that_is_suspended_has_no_pods() -> None:
    groups = [{"groupName": "gpus", "replicas": 3}, {"groupName": "later", "replicas": 5, "suspend": True}]
    owners = kept("ray.io/v1", "RayCluster", {"workerGroupSpecs": groups})
    assert gang_of(of_ray("gpus", 8), "default", owners).size == 4
