"""Which gang a pod belongs to: pods as their operators make them, and what is known of their owners."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from builders import deployment, gpu_pod, job, job_pod, owned, pod, stateful_set, workload
from named_owners import gang_of
from operator_pods.groups import GROUPED
from podberth.kinds.dossiers import DOSSIERS
from podberth.kube.unchecked import at
from podberth.workload.gangs import Gang
from podberth.workload.memberships import GROUPS, MEMBERSHIPS
from podberth.workload.owners import LOOKED_UP, keep
from presented import present

JSON = dict[str, Any]


def gang(document: JSON, owners: dict[str, Any] | None = None, **known: Any) -> Gang:
    return gang_of(document, "default", owners or {}, **known)


def test_a_plain_pod_is_in_no_gang() -> None:
    found = gang(gpu_pod(8))
    assert found.as_cel() == {
        "known": False,
        "name": "",
        "size": 0,
        "accelerated": 0,
        "index": -1,
        "role": "",
        "source": "",
        "system": "plain",
    }


# ---- the user's own word -------------------------------------------------------------------------------------------


def test_the_label_names_a_gang_and_the_annotation_its_size() -> None:
    document = pod(labels={"podberth.io/gang": "ring"}, annotations={"podberth.io/gang-size": "5"})
    assert gang(document).as_cel() == {
        "known": True,
        "name": "ring",
        "size": 5,
        "accelerated": 5,
        "index": -1,
        "role": "",
        "source": "label",
        "system": "plain",
    }


def test_the_label_beats_the_owner_and_the_owners_size_is_not_the_gangs() -> None:
    """tests/real-manifests.md 13: a launcher and its workers are two Jobs and one gang."""
    document = job_pod(3, labels={"podberth.io/gang": "ring"})
    found = gang(document, {"job-uid": job(gpu_pod(), indexed=True, parallelism=4)})
    assert (found.name, found.size, found.index, found.source) == ("ring", 0, 3, "label")


def test_the_label_that_podberth_wrote_changes_no_fact() -> None:
    owners = {"job-uid": job(gpu_pod(), indexed=True, parallelism=4)}
    before = gang(job_pod(3), owners)
    written = {"podberth.io/gang": before.name}
    assert gang(job_pod(3, labels=written), owners) == before


def test_a_labelled_gang_of_one_stays_one() -> None:
    document = pod(labels={"podberth.io/gang": "ring"}, annotations={"podberth.io/gang-size": "1"})
    assert gang(document).known


def test_a_label_that_names_a_native_group_says_so() -> None:
    document = pod(labels={"podberth.io/gang": "ring"})
    assert gang(document, pod_groups=frozenset({"ring"})).source == "PodGroup"
    assert gang(document, pod_groups=frozenset({"other"})).source == "label"


@pytest.mark.parametrize("text", ["eight", "", "0", "-1", "8.0", "99999999999", "٨"])
def test_a_size_that_is_none_is_a_problem_and_unknown(text: str) -> None:
    found = gang(job_pod(annotations={"podberth.io/gang-size": text}))
    assert found.size == 0
    where = "metadata.annotations[podberth.io/gang-size]"
    assert found.problems == (f'{where}: got "{text}", want the number of pods, as in "8"',)


# ---- Jobs ----------------------------------------------------------------------------------------------------------


def test_an_indexed_job_is_a_gang_named_by_its_uid() -> None:
    found = gang(job_pod(3), {"job-uid": job(gpu_pod(), indexed=True, parallelism=8)})
    assert found == Gang(known=True, name="job-job-uid", size=8, index=3, source="Job", job=found.job)


def test_without_the_owner_the_size_is_unknown_or_the_annotations() -> None:
    assert gang(job_pod()).size == 0
    assert gang(job_pod(annotations={"podberth.io/gang-size": "8"})).size == 8


def test_the_annotation_beats_the_owner() -> None:
    owners = {"job-uid": job(gpu_pod(), indexed=True, parallelism=4)}
    assert gang(job_pod(annotations={"podberth.io/gang-size": "8"}), owners).size == 8


def test_an_indexed_job_of_one_is_no_gang() -> None:
    assert not gang(job_pod(), {"job-uid": job(gpu_pod(), indexed=True, parallelism=1)}).known


def test_an_indexed_job_with_more_tasks_than_run_at_once_is_no_gang() -> None:
    """KEP-5547 draws the same line."""
    owner = job(gpu_pod(), indexed=True, parallelism=4)
    owner["spec"]["completions"] = 100
    assert not gang(job_pod(), {"job-uid": owner}).known


def test_an_indexed_job_has_no_more_members_than_tasks() -> None:
    owner = job(gpu_pod(), indexed=True, parallelism=4)
    owner["spec"]["completions"] = 2
    assert gang(job_pod(), {"job-uid": owner}).size == 2


def test_an_older_controllers_annotation_is_enough() -> None:
    document = job_pod(5)
    del document["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]
    assert gang(document).index == 5


@pytest.mark.parametrize(
    "workload_of",
    [
        lambda: job(gpu_pod(), parallelism=8),
        lambda: deployment(gpu_pod(), replicas=8),
        lambda: stateful_set(gpu_pod(), replicas=8),
    ],
)
def test_what_is_no_indexed_job_makes_no_gang(workload_of: Any) -> None:
    presented = present(workload_of(), namespace="default")
    assert not gang(presented.pod).known


# ---- operators -----------------------------------------------------------------------------------------------------

LWS = "leaderworkerset.sigs.k8s.io"


def leader(name: str = "serve-1", **labels: str) -> JSON:
    marks = {f"{LWS}/name": "serve", f"{LWS}/worker-index": "0", **labels}
    return pod(name=name, labels=marks, annotations={f"{LWS}/size": "4"})


def test_a_leader_and_its_workers_are_one_gang_before_lws_has_labelled_the_leader() -> None:
    """tests/real-manifests.md 13: GPU-less leaders."""
    key = hashlib.sha1(b"default/serve-1", usedforsecurity=False).hexdigest()
    marks = {f"{LWS}/name": "serve", f"{LWS}/group-key": key, "apps.kubernetes.io/pod-index": "2"}
    worker = gpu_pod(8, labels=marks, annotations={f"{LWS}/size": "4"})
    expected = Gang(known=True, name=f"lws-{key}", size=4, source="LeaderWorkerSet")
    assert gang(leader()) == replace(expected, index=0, role="leader")
    assert gang(worker) == replace(expected, index=2, role="worker")
    assert gang(leader("serve-2")).name != gang(worker).name


def test_a_leader_alone_is_no_gang() -> None:
    document = leader()
    document["metadata"]["annotations"][f"{LWS}/size"] = "1"
    assert not gang(document).known


def job_set_pod(**labels: str) -> JSON:
    marks = {"jobset.sigs.k8s.io/jobset-name": "llama", "jobset.sigs.k8s.io/jobset-uid": "js-uid", **labels}
    return job_pod(2, labels=marks)


JOB_SET: JSON = workload(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    {
        "replicatedJobs": [
            {"name": "launcher", "template": {"spec": {}}},
            {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4}}},
        ]
    },
)


def test_a_job_set_is_one_gang_of_all_its_jobs() -> None:
    found = gang(job_set_pod(), {"js-uid": JOB_SET})
    assert found == Gang(known=True, name="jobset-js-uid", size=9, source="JobSet")
    assert gang(job_set_pod()).size == 0
    assert gang(job_set_pod(**{"jobset.sigs.k8s.io/replicatedjob-replicas": "1"})).index == 2


def kubeflow_pod(kind: str, role: str, index: str = "", **labels: str) -> JSON:
    marks = {"training.kubeflow.org/job-name": "bert", "training.kubeflow.org/replica-type": role, **labels}
    if index:
        marks["training.kubeflow.org/replica-index"] = index
    return owned(pod(labels=marks), kind, api_version="kubeflow.org/v1", name="bert", uid="kf-uid")


@pytest.mark.parametrize(
    ("kind", "field"),
    [("PyTorchJob", "pytorchReplicaSpecs"), ("TFJob", "tfReplicaSpecs"), ("JAXJob", "jaxReplicaSpecs")],
)
def test_a_kubeflow_job_is_a_gang_of_all_its_roles(kind: str, field: str) -> None:
    owner = workload("kubeflow.org/v1", kind, {field: {"Master": {}, "Worker": {"replicas": 3}}})
    found = gang(kubeflow_pod(kind, "worker", "1"), {"kf-uid": owner})
    assert found == Gang(known=True, name=f"{kind.lower()}-kf-uid", size=4, index=1, role="worker", source=kind)


@pytest.mark.parametrize(
    ("kind", "field", "elastic"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs", {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 8}}),
        ("PaddleJob", "paddleReplicaSpecs", {"elasticPolicy": {}}),
        ("TFJob", "tfReplicaSpecs", {"enableDynamicWorker": True}),
    ],
)
def test_a_kubeflow_job_that_changes_its_workers_has_no_size(kind: str, field: str, elastic: JSON) -> None:
    owner = workload("kubeflow.org/v1", kind, {field: {"Worker": {"replicas": 4}}, **elastic})
    owner["metadata"]["uid"] = "kf-uid"
    kept = keep(LOOKED_UP["kubeflow.org/v1", kind], owner)
    assert kept is not None
    found = gang(kubeflow_pod(kind, "worker", "1"), {"kf-uid": kept})
    assert (found.known, found.size, found.sized_by_owner) == (True, 0, False)


def test_an_mpi_launcher_belongs_to_its_workers_gang() -> None:
    """tests/real-manifests.md 13: all 45 MPIJobs have a GPU-less launcher, a Job's pod; workers are the MPIJob's."""
    mpi = workload("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 4}}})
    launchers_job = owned(workload("batch/v1", "Job", {}), "MPIJob", api_version="kubeflow.org/v2beta1", uid="mpi-uid")
    owners = {"mpi-uid": mpi, "launcher-uid": launchers_job}
    marks = {"training.kubeflow.org/job-name": "bert", "training.kubeflow.org/operator-name": "mpi-operator"}
    launcher = owned(pod(labels=marks), "Job", uid="launcher-uid")
    worker = owned(gpu_pod(8, labels=marks), "MPIJob", api_version="kubeflow.org/v2beta1", uid="mpi-uid")
    expected = Gang(known=True, name="mpijob-bert", size=5, source="MPIJob")
    assert gang(launcher, owners) == expected
    assert gang(worker, owners) == expected
    assert gang(launcher).name == gang(worker).name


def test_a_volcano_job_is_a_gang_of_all_its_tasks() -> None:
    marks = {"volcano.sh/job-name": "mpi", "volcano.sh/task-index": "1"}
    document = pod(labels=marks, annotations={"scheduling.k8s.io/group-name": "mpi-1"}, schedulerName="volcano")
    document = owned(document, "Job", api_version="batch.volcano.sh/v1alpha1", uid="vc-uid")
    tasks = [{"name": "master", "replicas": 1}, {"name": "w", "replicas": 2}]
    owner = workload("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks})
    found = gang(document, {"vc-uid": owner})
    assert found == Gang(
        known=True, name="vcjob-vc-uid", size=3, index=1, source="VolcanoJob", system="volcano", accounted=True
    )


def ray_pod(kind: str) -> JSON:
    marks = {"ray.io/cluster": "ray", "ray.io/node-type": kind}
    return owned(pod(labels=marks), "RayCluster", api_version="ray.io/v1", name="ray", uid="ray-uid")


def test_a_ray_cluster_is_a_gang_of_its_head_and_workers() -> None:
    """tests/real-manifests.md 13: 50 of 54 Ray documents have a GPU-less head."""
    spec = {"workerGroupSpecs": [{"replicas": 2, "numOfHosts": 4}, {"replicas": 1}]}
    owners = {"ray-uid": workload("ray.io/v1", "RayCluster", spec)}
    expected = Gang(known=True, name="raycluster-ray-uid", size=10, source="RayCluster")
    assert gang(ray_pod("head"), owners) == expected
    assert gang(ray_pod("worker"), owners) == expected


def test_a_ray_cluster_that_scales_itself_has_no_size() -> None:
    spec = {"enableInTreeAutoscaling": True, "workerGroupSpecs": [{"replicas": 2}]}
    assert gang(ray_pod("head"), {"ray-uid": workload("ray.io/v1", "RayCluster", spec)}).size == 0


def test_rays_clean_up_job_is_no_member() -> None:
    assert not gang(ray_pod("redis-cleanup")).known


def test_a_grove_pod_belongs_to_its_pod_gang() -> None:
    """tests/real-manifests.md 13: Dynamo's GPU-less frontends."""
    found = gang(pod(labels={"grove.io/podgang": "dyn-0", "grove.io/podclique-pod-index": "1"}))
    assert (found.name, found.index, found.source) == ("dyn-0", 1, "PodCliqueSet")


# ---- groups by name ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("document", "expected"), GROUPED)
def test_a_group_named_on_the_pod_is_its_gang(document: JSON, expected: Gang) -> None:
    """tests/real-manifests.md 15: gang keys live everywhere."""
    assert gang(document) == expected


def test_every_way_of_naming_a_group_has_a_pod_and_says_whose_group_it_is() -> None:
    systems = {id(group): row.system for row in DOSSIERS for group in row.groups}
    for group in GROUPS:
        [system] = {found.system for document, found in GROUPED if at(document, *group.steps)}
        of_dossier = systems[id(group)]
        assert of_dossier is not None
        assert system == of_dossier.name, group.steps


def test_a_key_without_a_domain_counts_under_its_own_scheduler_only() -> None:
    assert not gang(pod(annotations={"pod-group-name": "g"})).known


def test_a_group_by_hand_beats_an_indexed_job() -> None:
    found = gang(job_pod(1, labels={"scheduling.x-k8s.io/pod-group": "both-jobs"}))
    assert (found.name, found.index) == ("both-jobs", 1)


@pytest.mark.parametrize("text", ["", "{", "null", "[1]", "[" * 100_000, '[{"minMember": "x"}]'])
def test_task_groups_that_cannot_be_read_give_no_size(text: str) -> None:
    annotations = {"yunikorn.apache.org/task-group-name": "w", "yunikorn.apache.org/task-groups": text}
    found = gang(pod(labels={"applicationId": "a"}, annotations=annotations))
    assert (found.name, found.size) == ("a", 0)


# ---- owners and names ----------------------------------------------------------------------------------------------


def test_a_queue_on_the_owners_owner_makes_the_system_kueue() -> None:
    """tests/real-manifests.md 15: the queue name stands on the object, here the JobSet of the Job of the pod."""
    queued = {"kind": "JobSet", "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}
    owners = {"job-uid": owned(workload("batch/v1", "Job", {}), "JobSet", uid="js-uid"), "js-uid": queued}
    assert gang(job_pod(), owners).system == "kueue"
    assert gang(job_pod()).system == "plain"


@pytest.mark.parametrize(
    "owner",
    [
        None,
        [],
        {},
        {"spec": []},
        {"kind": "Job", "spec": {"parallelism": "8", "completions": []}},
        {"kind": "Job", "metadata": {"ownerReferences": [None, {"controller": True, "uid": 1}], "labels": []}},
        {"kind": "JobSet", "spec": {"replicatedJobs": [None, {"replicas": -1}, {"template": 1}]}},
        {"kind": "JobSet", "spec": {"replicatedJobs": {}}},
    ],
)
def test_an_owner_of_any_shape_causes_no_fault(owner: Any) -> None:
    assert gang(job_pod(), {"job-uid": owner}).size == 0
    assert gang(job_set_pod(), {"js-uid": owner, "job-uid": owner}).size >= 0


def test_sizes_stay_within_the_apis_integers() -> None:
    owner = job(gpu_pod(), indexed=True, parallelism=2**62)
    assert gang(job_pod(), {"job-uid": owner}).size == 2**31 - 1


def test_a_long_name_is_cut_to_a_label_value_and_stays_its_own() -> None:
    names = {gang(job_set_named("x" * 62 + end)).name for end in "ab"}
    assert len(names) == 2
    assert all(len(name) == 63 for name in names)


def job_set_named(name: str) -> JSON:
    return pod(labels={"jobset.sigs.k8s.io/jobset-name": name})


def test_every_row_names_its_source_and_a_key() -> None:
    for row in MEMBERSHIPS:
        assert row.source
        assert row.label or row.annotation or row.field
