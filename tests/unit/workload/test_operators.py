"""Gangs by operator: the pods of each as it makes them, by the source that its row names, and what is read of them."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, job_pod, owned, pod, review, workload
from pages import ROOT
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.topology.objects import collect
from podberth.wellknown import APPLIED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from podberth.workload.gangs import Gang, gang_of
from podberth.workload.gpus import gpu_facts
from podberth.workload.operators import DECLARED_SET, INDEXED_JOB, OPERATOR_ROWS
from podberth.workload.sources import ROWS
from shipped import shipped

JSON = dict[str, Any]
WORDS = {GANG_LABEL, GANG_SIZE_ANNOTATION, APPLIED_ANNOTATION}


@dataclass(frozen=True)
class Case:
    """The pods of one gang, each with its role and index, and the objects that own them, by uid."""

    row: str
    name: str
    size: int
    source: str
    members: tuple[tuple[JSON, str, int], ...]
    owners: dict[str, Any]
    alone: int = 0
    """The size by the pods alone."""
    staged: str = ""


def of_kubeflow(kind: str, role: str, index: int, *, leads: bool = False, gpus: int = 8) -> JSON:
    """As createNewPod (kubeflow/training-operator pkg/controller.v1/common/pod.go)."""
    said = {
        "operator-name": f"{kind.lower()}-controller",
        "job-name": "bert",
        "replica-type": role,
        "replica-index": str(index),
    }
    if leads:
        said["job-role"] = "master"
    labels = {f"training.kubeflow.org/{key}": value for key, value in said.items()}
    return owned(gpu_pod(gpus, labels=labels), kind, api_version="kubeflow.org/v1", name="bert", uid="u")


def of_kubeflow_kind(kind: str, field: str, leader: str) -> Case:
    roles = {leader: {"replicas": 1}, "Worker": {"replicas": 2}}
    return Case(
        row="PyTorchJob",
        name=f"{kind.lower()}-u",
        size=3,
        source=kind,
        members=(
            (of_kubeflow(kind, leader.lower(), 0, leads=True), leader.lower(), 0),
            (of_kubeflow(kind, "worker", 1), "worker", 1),
        ),
        owners={"u": workload("kubeflow.org/v1", kind, {field: roles})},
    )


def of_mpi(role: str, index: int | None = None) -> JSON:
    """As newWorker and newLauncherJob (kubeflow/mpi-operator pkg/controller/mpi_job_controller.go)."""
    said = {"operator-name": "mpi-operator", "job-name": "bert", "job-role": role}
    if index is not None:
        said["replica-index"] = str(index)
    labels = {f"training.kubeflow.org/{key}": value for key, value in said.items()}
    if role == "launcher":
        return owned(pod(labels=labels), "Job", name="bert-launcher", uid="launcher")
    return owned(gpu_pod(8, labels=labels), "MPIJob", api_version="kubeflow.org/v2beta1", name="bert", uid="u")


def of_job_set(role: str, index: int, *, jobs: int = 1, gpus: int = 8) -> JSON:
    """As labelAndAnnotateObject (kubernetes-sigs/jobset pkg/controllers/jobset_controller.go), on a Job's pods."""
    said = {
        "jobset-name": "llama",
        "jobset-uid": "u",
        "replicatedjob-name": role,
        "replicatedjob-replicas": str(jobs),
        "job-index": "0",
        "job-key": "c0ffee",
        "restart-attempt": "0",
    }
    keys = {f"jobset.sigs.k8s.io/{key}": value for key, value in said.items()}
    return job_pod(index, gpus=gpus, labels=keys, annotations=keys)


def of_train_job(index: int) -> JSON:
    """As the JobSet of a TrainJob (kubeflow/trainer pkg/runtime/framework/plugins/jobset): its nodes are one Job."""
    made = of_job_set("node", index)
    made["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] = "trainer"
    return made


def of_volcano(task: str, index: int, gpus: int) -> JSON:
    """As createJobPod (volcano-sh/volcano pkg/controllers/job/job_controller_util.go)."""
    keys = {"volcano.sh/job-name": "mpi", "volcano.sh/task-spec": task, "volcano.sh/task-index": str(index)}
    group = {"scheduling.k8s.io/group-name": "mpi-u", "volcano.sh/job-version": "0"}
    made = gpu_pod(gpus, labels=keys, annotations={**keys, **group}, schedulerName="volcano")
    return owned(made, "Job", api_version="batch.volcano.sh/v1alpha1", name="mpi", uid="u")


def of_ray(group: str, gpus: int) -> JSON:
    """As labelPod (ray-project/kuberay ray-operator/controllers/ray/common/pod.go)."""
    kind = "head" if group == "headgroup" else "worker"
    labels = {
        "ray.io/cluster": "ray",
        "ray.io/group": group,
        "ray.io/identifier": f"ray-{kind}",
        "ray.io/is-ray-node": "yes",
        "ray.io/node-type": kind,
    }
    return owned(gpu_pod(gpus, labels=labels), "RayCluster", api_version="ray.io/v1", name="ray", uid="u")


def of_lws(index: int) -> JSON:
    """As the StatefulSets of a group (kubernetes-sigs/lws pkg/controllers/pod_controller.go), the leader's first."""
    key = "55c0d1a8fbd7a8a5da27d64f7bbdd7a5e4e1a1d0"
    labels = {
        "leaderworkerset.sigs.k8s.io/name": "serve",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
        "leaderworkerset.sigs.k8s.io/group-key": key,
        "apps.kubernetes.io/pod-index": str(index),
    }
    if index == 0:
        labels["leaderworkerset.sigs.k8s.io/worker-index"] = "0"
    size = {"leaderworkerset.sigs.k8s.io/size": "3"}
    made = gpu_pod(8 if index else 0, labels=labels, annotations=size)
    return owned(made, "StatefulSet", api_version="apps/v1", name="serve-0", uid="set")


def of_rbg(role: str, gpus: int, **more: str) -> JSON:
    """As GetCommonLabelsFromRole (sgl-project/rbg api/workloads/v1alpha2/helper.go), a RoleInstance between."""
    said = {"group-name": "pd", "role-name": role, "group-uid": "c0ffee"}
    labels = {f"rbg.workloads.x-k8s.io/{key}": value for key, value in said.items()} | more
    return owned(gpu_pod(gpus, labels=labels), "RoleInstance", api_version="workloads.x-k8s.io/v1alpha2", uid="i")


def of_older_rbg(role: str, index: int, gpus: int) -> JSON:
    """As GetCommonLabelsFromRole (sgl-project/rbg api/workloads/v1alpha1/helper.go), of a StatefulSet."""
    said = {"name": "pd", "role": role, "group-unique-key": "c0ffee"}
    labels = {f"rolebasedgroup.workloads.x-k8s.io/{key}": value for key, value in said.items()}
    labels["apps.kubernetes.io/pod-index"] = str(index)
    return owned(gpu_pod(gpus, labels=labels), "StatefulSet", api_version="apps/v1", name=f"pd-{role}", uid="set")


def of_grove(clique: str, index: int, gpus: int, *, scaled: int | None = None, group: str = "") -> JSON:
    """As buildResource of pods (ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go)."""
    labels = {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "dyn",
        "grove.io/podclique": f"dyn-0-{clique}",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podgang": "dyn-0",
        "grove.io/podclique-pod-index": str(index),
    }
    if group:
        number = 0 if scaled is None else scaled + 1
        labels |= {
            "grove.io/podclique": f"dyn-0-{group}-{number}-{clique}",
            "grove.io/podcliquescalinggroup": f"dyn-0-{group}",
            "grove.io/podcliquescalinggroup-replica-index": str(number),
        }
    if scaled is not None:
        labels |= {"grove.io/podgang": f"dyn-0-{group}-{scaled}", "grove.io/base-podgang": "dyn-0"}
    uid = "of-group" if group else "clique"
    return owned(gpu_pod(gpus, labels=labels), "PodClique", api_version="grove.io/v1alpha1", uid=uid)


CLIQUES = {
    "template": {
        "cliques": [
            {"name": "frontend", "spec": {"replicas": 1}},
            {"name": "leader", "spec": {"replicas": 1}},
            {"name": "worker", "spec": {"replicas": 3}},
        ],
        "podCliqueScalingGroups": [
            {"name": "decode", "cliqueNames": ["leader", "worker"], "replicas": 4, "minAvailable": 2}
        ],
    }
}
GROVE_OWNERS = {
    "u": workload("grove.io/v1alpha1", "PodCliqueSet", CLIQUES),
    "group": owned(workload("grove.io/v1alpha1", "PodCliqueScalingGroup", {}), "PodCliqueSet", uid="u"),
    "of-group": owned(workload("grove.io/v1alpha1", "PodClique", {}), "PodCliqueScalingGroup", uid="group"),
    "clique": owned(workload("grove.io/v1alpha1", "PodClique", {}), "PodCliqueSet", uid="u"),
}


def of_kserve(name: str) -> JSON:
    """As multiNodeProcess and createRawWorkerDeployment (kserve/kserve pkg/controller/v1beta1/inferenceservice)."""
    labels = {
        "app": "isvc.llama-predictor" + ("-worker" if name == "worker-container" else ""),
        "component": "predictor",
        "isvc.generation": "2",
        "serving.kserve.io/inferenceservice": "llama",
    }
    env = [{"name": "PIPELINE_PARALLEL_SIZE", "value": "2"}, {"name": "RAY_NODE_COUNT", "value": "3"}]
    made = pod(gpu_container(name, 8, env=env), labels=labels)
    return owned(made, "ReplicaSet", api_version="apps/v1", uid="set")


def of_spark(role: str, number: int | None = None) -> JSON:
    """As BasicDriverFeatureStep and BasicExecutorFeatureStep (apache/spark resource-managers/kubernetes/core)."""
    labels = {
        "spark-app-selector": "spark-12f88a73cb544ce298deba34947226a4",
        "spark-role": role,
        "sparkoperator.k8s.io/app-name": "etl",
    }
    if number is None:
        driver = pod(container("spark-kubernetes-driver"), labels=labels)
        return owned(driver, "SparkApplication", api_version="sparkoperator.k8s.io/v1beta2", uid="u")
    executor = pod(gpu_container("spark-kubernetes-executor", 1), labels={**labels, "spark-exec-id": str(number)})
    return owned(executor, "Pod", api_version="v1", uid="driver")


def of_set(index: int) -> JSON:
    """As updateIdentity (kubernetes pkg/controller/statefulset/stateful_set_utils.go), with the user's annotation."""
    labels = {"apps.kubernetes.io/pod-index": str(index), "statefulset.kubernetes.io/pod-name": f"shard-{index}"}
    made = gpu_pod(8, labels=labels, annotations={GANG_SIZE_ANNOTATION: "4"})
    return owned(made, "StatefulSet", api_version="apps/v1", name="shard", uid="u")


ROLES = [
    {"name": "router", "replicas": 1, "standalonePattern": {}},
    {"name": "decode", "replicas": 2, "leaderWorkerPattern": {"size": 4}},
    {"name": "cache", "customComponentsPattern": {"components": [{"size": 2}, {}]}},
]
OLDER_ROLES = [{"name": "router"}, {"name": "decode", "replicas": 2, "leaderWorkerSet": {"size": 3}}]

CASES = (
    Case(
        row="JobSet",
        name="jobset-u",
        size=9,
        source="JobSet",
        members=(
            (of_job_set("launcher", 0, gpus=0), "launcher", 0),
            (of_job_set("workers", 3, jobs=2), "workers", 3),
        ),
        owners={
            "u": workload(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                {
                    "replicatedJobs": [
                        {"name": "launcher", "template": {"spec": {}}},
                        {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4}}},
                    ]
                },
            )
        },
    ),
    Case(
        row="JobSet, and TrainJob",
        name="jobset-u",
        size=4,
        source="JobSet",
        members=((of_train_job(0), "node", 0), (of_train_job(3), "node", 3)),
        owners={
            "u": workload(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                {"replicatedJobs": [{"name": "node", "template": {"spec": {"parallelism": 4, "completions": 4}}}]},
            )
        },
    ),
    of_kubeflow_kind("PyTorchJob", "pytorchReplicaSpecs", "Master"),
    of_kubeflow_kind("TFJob", "tfReplicaSpecs", "Chief"),
    of_kubeflow_kind("XGBoostJob", "xgbReplicaSpecs", "Master"),
    of_kubeflow_kind("PaddleJob", "paddleReplicaSpecs", "Master"),
    replace(
        of_kubeflow_kind("JAXJob", "jaxReplicaSpecs", "Master"),
        members=((of_kubeflow("JAXJob", "worker", 1), "worker", 1),),
    ),
    Case(
        row="PyTorchJob",
        name="mpijob-bert",
        size=3,
        source="MPIJob",
        members=((of_mpi("launcher"), "launcher", -1), (of_mpi("worker", 1), "worker", 1)),
        owners={
            "u": workload(
                "kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 2}}}
            ),
            "launcher": owned(workload("batch/v1", "Job", {}), "MPIJob", uid="u"),
        },
    ),
    Case(
        row="Volcano Job",
        name="vcjob-u",
        size=3,
        source="VolcanoJob",
        members=((of_volcano("driver", 0, 0), "driver", 0), (of_volcano("worker", 1, 8), "worker", 1)),
        owners={
            "u": workload(
                "batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "driver"}, {"name": "worker", "replicas": 2}]}
            )
        },
    ),
    Case(
        row="RayCluster",
        name="raycluster-u",
        size=9,
        source="RayCluster",
        members=((of_ray("headgroup", 0), "headgroup", -1), (of_ray("gpus", 8), "gpus", -1)),
        owners={
            "u": workload(
                "ray.io/v1",
                "RayCluster",
                {"workerGroupSpecs": [{"groupName": "gpus", "replicas": 2, "numOfHosts": 4}]},
            )
        },
    ),
    Case(
        row="LeaderWorkerSet",
        name="lws-55c0d1a8fbd7a8a5da27d64f7bbdd7a5e4e1a1d0",
        size=3,
        source="LeaderWorkerSet",
        members=((of_lws(0), "leader", 0), (of_lws(2), "worker", 2)),
        owners={},
        alone=3,
    ),
    Case(
        row="RoleBasedGroup (v1alpha2)",
        name="rbg-pd",
        size=12,
        source="RoleBasedGroup",
        members=(
            (of_rbg("router", 0), "router", -1),
            (of_rbg("decode", 8, **{"leaderworkerset.sigs.k8s.io/name": "pd-decode"}), "decode", -1),
        ),
        owners={
            "i": owned(workload("workloads.x-k8s.io/v1alpha2", "RoleInstance", {}), "RoleInstanceSet", uid="is"),
            "is": owned(workload("workloads.x-k8s.io/v1alpha2", "RoleInstanceSet", {}), "RoleBasedGroup", uid="u"),
            "u": workload("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", {"roles": ROLES}),
        },
    ),
    Case(
        row="RoleBasedGroup (v1alpha1)",
        name="rbg-pd",
        size=7,
        source="RoleBasedGroup",
        members=((of_older_rbg("router", 0, 0), "router", 0), (of_older_rbg("decode", 1, 8), "decode", 1)),
        owners={
            "set": owned(workload("apps/v1", "StatefulSet", {}), "RoleBasedGroup", uid="u"),
            "u": workload("workloads.x-k8s.io/v1alpha1", "RoleBasedGroup", {"roles": OLDER_ROLES}),
        },
    ),
    Case(
        row="PodCliqueSet",
        name="dyn-0",
        size=9,
        source="PodCliqueSet",
        members=(
            (of_grove("frontend", 0, 0), "frontend", 0),
            (of_grove("worker", 2, 8, group="decode"), "worker", 2),
        ),
        owners=GROVE_OWNERS,
    ),
    Case(
        row="PodCliqueSet",
        name="dyn-0-decode-1",
        size=4,
        source="PodCliqueSet",
        members=(
            (of_grove("leader", 0, 0, scaled=1, group="decode"), "leader", 0),
            (of_grove("worker", 2, 8, scaled=1, group="decode"), "worker", 2),
        ),
        owners=GROVE_OWNERS,
    ),
    Case(
        row="InferenceService",
        name="isvc-llama-2",
        size=3,
        source="InferenceService",
        members=((of_kserve("kserve-container"), "head", -1), (of_kserve("worker-container"), "worker", -1)),
        owners={},
        alone=3,
    ),
    Case(
        row="Spark application",
        name="spark-12f88a73cb544ce298deba34947226a4",
        size=4,
        source="Spark",
        staged="spec.executor",
        members=((of_spark("driver"), "driver", -1), (of_spark("executor", 2), "executor", 1)),
        owners={
            "u": workload("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 3}}),
            "driver": owned(workload("v1", "Pod", {}), "SparkApplication", uid="u"),
        },
    ),
    Case(
        row="Indexed Job",
        name="job-job-uid",
        size=4,
        source="Job",
        members=((job_pod(0), "", 0), (job_pod(3), "", 3)),
        owners={"job-uid": workload("batch/v1", "Job", {"parallelism": 4, "completions": 4})},
    ),
    Case(
        row="StatefulSet",
        name="statefulset-u",
        size=4,
        source="StatefulSet",
        members=((of_set(0), "", 0), (of_set(3), "", 3)),
        owners={},
        alone=4,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}-{case.name}")
def test_the_pods_of_an_operator_are_one_gang(case: Case) -> None:
    for document, role, index in case.members:
        system = "volcano" if case.source == "VolcanoJob" else "plain"
        expected = Gang(
            known=True,
            name=case.name,
            size=case.size,
            index=index,
            role=role,
            source=case.source,
            system=system,
            staged=case.staged,
        )
        assert gang_of(document, "default", case.owners) == expected
        assert gang_of(document, "default", {}) == replace(expected, size=case.alone)


def test_every_row_has_a_case_and_every_case_a_row() -> None:
    rows = {row.name for row in (*OPERATOR_ROWS, INDEXED_JOB, DECLARED_SET)}
    for case in CASES:
        assert any(name.startswith(case.row) for name in rows), case.row
    assert all(any(name.startswith(case.row) for case in CASES) for name in rows)


# The template of a CronJob stands for its Job before there is one; no pod is of a CronJob.
CRON_JOB = workload("batch/v1", "CronJob", {})


def test_every_owner_that_is_read_is_known_from_a_snapshot() -> None:
    for case in CASES:
        documents = [
            {**document, "metadata": {**document["metadata"], "name": uid, "uid": uid}}
            for uid, document in case.owners.items()
            if document["kind"] != "Pod"  # of a Spark driver's a snapshot would be too large
        ]
        objects = collect([*documents, CRON_JOB], now=None)
        assert objects.problems == ()
        assert [objects.owners[each["metadata"]["uid"]] for each in documents] == documents


def test_every_kind_that_is_asked_for_owns_a_pod_of_a_case() -> None:
    """So the test above forgets none: the kinds are those that the rows name in ``pod.owner``."""
    code = "".join(file.read_text() for file in (ROOT / "webhook/podberth/workload").rglob("*.py"))
    asked = set(re.findall(r'pod\.owner\("(\w+)"\)', code))
    assert {"RoleBasedGroup", "SparkApplication", "PodCliqueSet"} <= asked
    assert asked <= {owner["kind"] for case in CASES for owner in (*case.owners.values(), CRON_JOB)}


def test_every_key_that_names_a_gang_sends_its_pods_to_podberth() -> None:
    """Rule 10. Pods of an Indexed Job are all alike, so those without a GPU have no one to belong to."""
    condition = (ROOT / "manifests/base/mutating-webhook.yaml").read_text().partition("- name: gpu-or-gang")[2]
    labels, _, annotations = condition.partition("- name: no-mirror-pod")[0].partition("metadata.annotations.exists")
    for row in ROWS:
        if row is not INDEXED_JOB:
            assert not row.label or f"'{row.label}'" in labels
            assert not row.annotation or f"'{row.annotation}'" in annotations


# ---- what is no gang -----------------------------------------------------------------------------------------------


def test_a_step_of_an_argo_workflow_is_a_pod_by_itself() -> None:
    """As createWorkflowPod (argoproj/argo-workflows workflow/controller/workflowpod.go)."""
    labels = {"workflows.argoproj.io/workflow": "train-x7x", "workflows.argoproj.io/completed": "false"}
    step = owned(gpu_pod(8, labels=labels), "Workflow", api_version="argoproj.io/v1alpha1", uid="u")
    assert not gang_of(step, "default", {}).known


def test_a_service_on_one_node_and_a_connect_server_are_replicas() -> None:
    assert not gang_of(pod(labels={"serving.kserve.io/inferenceservice": "llama"}), "default", {}).known
    assert not gang_of(pod(labels={"isvc.generation": "1"}), "default", {}).known
    server = {"spark-app-selector": "spark-1", "spark-role": "connect-server"}
    assert not gang_of(pod(labels=server), "default", {}).known


@pytest.mark.parametrize("env", [None, {}, "x", 3, [None, 3, "x", [], {}, {"name": "RAY_NODE_COUNT", "value": 3}]])
def test_an_environment_of_any_shape_is_borne(env: Any) -> None:
    document = of_kserve("kserve-container")
    document["spec"]["containers"][0]["env"] = env
    assert gang_of(document, "default", {}).size == 0


def test_a_size_without_a_set_or_that_is_none_declares_no_gang() -> None:
    document = of_set(0)
    assert gang_of(document, "default", {}).known
    document["metadata"]["annotations"][GANG_SIZE_ANNOTATION] = "many"
    assert not gang_of(document, "default", {}).known
    assert not gang_of(gpu_pod(8, annotations={GANG_SIZE_ANNOTATION: "4"}), "default", {}).known


# ---- sizes that nobody knows ---------------------------------------------------------------------------------------


def test_what_scales_has_no_size() -> None:
    scaling: JSON = {"u": workload("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 3}})}
    scaling["u"]["spec"]["dynamicAllocation"] = {"enabled": True}
    assert gang_of(of_spark("driver"), "default", scaling).size == 0
    cliques = workload("grove.io/v1alpha1", "PodCliqueSet", {"template": {"cliques": [{"spec": {}}]}})
    cliques["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"] = {}
    assert gang_of(of_grove("frontend", 0, 0), "default", {**GROVE_OWNERS, "u": cliques}).size == 0


# ---- the label says it, the role stays ------------------------------------------------------------------------------


def test_a_gang_by_hand_keeps_what_the_operator_says_of_the_pod() -> None:
    document = of_mpi("worker", 1)
    document["metadata"]["labels"][GANG_LABEL] = "ring"
    found = gang_of(document, "default", {})
    assert (found.name, found.role, found.index, found.source) == ("ring", "worker", 1, "label")
    by_hand = of_set(3)
    by_hand["metadata"]["labels"][GANG_LABEL] = "ring"
    assert gang_of(by_hand, "default", {}).index == 3


# ---- launchers, heads and frontends without a GPU -------------------------------------------------------------------

MIXED = [
    case
    for case in CASES
    if {gpu_facts(document).count > 0 for document, _, _ in case.members} == {True, False}
    and case.source != "VolcanoJob"
]


def written(document: JSON, known: Snapshot) -> JSON:
    outcome = decide.mutate(decode_review(review(document)), known)
    assert outcome.verdict == "mutated"
    return apply(document, outcome.patch)


@pytest.mark.parametrize("case", MIXED, ids=lambda case: case.name)
def test_members_without_gpus_get_what_is_equal_on_all_and_nothing_else(case: Case) -> None:
    """Rule 10, with all policies that are on by default: the gang's name and size, and the record of them."""
    known = shipped().with_owners(case.owners)
    words = []
    for document, _, _ in case.members:
        after = written(document, known)
        both = {**after["metadata"].get("labels", {}), **after["metadata"].get("annotations", {})}
        words.append((both[GANG_LABEL], both[GANG_SIZE_ANNOTATION]))
        if gpu_facts(document).count:
            continue
        assert after["spec"] == document["spec"]
        before = {**document["metadata"].get("labels", {}), **document["metadata"].get("annotations", {})}
        assert both.keys() - before.keys() == WORDS
    assert words == [(case.name, str(case.size))] * len(case.members)


def test_the_mixed_gangs_are_those_of_the_field() -> None:
    """Fact 13: launchers of MPIJobs, heads of Ray, leaders of LeaderWorkerSets, Dynamo's frontends."""
    sources = {case.source for case in MIXED}
    assert {"MPIJob", "RayCluster", "LeaderWorkerSet", "PodCliqueSet", "JobSet", "RoleBasedGroup", "Spark"} <= sources
