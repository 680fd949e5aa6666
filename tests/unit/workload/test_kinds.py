"""The table of kinds: of each a small manifest, and what is found in it. The real CRDs: test_real_crds.py."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from podberth.kinds.places import PLACEHOLDER_UID as UID
from podberth.kube.documents import load_documents
from podberth.kube.positions import render_path
from podberth.kube.shape import shape_problems
from podberth.workload.gangs import gang_of
from podberth.workload.gpus import gpu_facts
from podberth.workload.kinds import KINDS, is_known
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]

ROOT = Path(__file__).parents[3]
MANIFESTS = {file.stem: file for file in sorted((ROOT / "tests" / "manifests").glob("*.yaml"))}
ANY_GROUP = "lws-" + "0" * 40


class Row(NamedTuple):
    """One template: what stands in the manifest, and what is known of its pods."""

    path: str
    role: str
    gpus: int
    replicas: int
    source: str
    gang: str
    size: int
    system: str


def documents(file: Path) -> list[JSON]:
    return [each.document for each in load_documents(file.read_text(), file.name)[0]]


KNOWN = [document for file in MANIFESTS.values() for document in documents(file)]


def found_in(document: JSON) -> list[Template]:
    return templates(document, namespace="default", known=KNOWN)


_RAY_CRON = "spec.jobTemplate.rayClusterSpec"
_ISVC = ("InferenceService", "isvc-llama-0000000000")
_SERVING = ("ModelServing", "modelserving-llama-0", 2, "volcano")
_BOOSTED = ("ModelServing", "modelserving-llama-vllm-0", 3, "volcano")
_FLEET = ("RayCluster", f"raycluster-{UID}", 2, "plain")
_ROLE_SET = ("RoleSet", "roleset-pd-roleset-0000000000", 5)
_ASCEND = ("AscendJob", f"ascendjob-{UID}", 3, "volcano")
FOUND: dict[str, list[Row]] = {
    "app-wrapper": [
        Row(
            "spec.components[1].template.spec.pytorchReplicaSpecs.Worker.template",
            "Worker",
            8,
            4,
            "PyTorchJob",
            f"pytorchjob-{UID}",
            4,
            "kueue",
        ),
    ],
    "ascend-job": [
        Row("spec.replicaSpecs.Master.template", "Master", 8, 1, *_ASCEND),
        Row("spec.replicaSpecs.Worker.template", "Worker", 8, 2, *_ASCEND),
    ],
    "cluster-serving-runtime": [
        Row("spec", "runtime", 1, 0, "", "", 0, "plain"),
    ],
    "cluster-training-runtime": [
        Row(
            "spec.template.spec.replicatedJobs[0].template.spec.template",
            "node",
            8,
            2,
            "JobSet",
            f"jobset-{UID}",
            2,
            "plain",
        ),
    ],
    "cluster-workflow-template": [
        Row("spec.templates[0]", "train", 8, 0, "", "", 0, "plain"),
        Row("spec.templates[1]", "report", 0, 0, "", "", 0, "plain"),
        Row("spec.templates[2]", "both", 1, 0, "", "", 0, "plain"),
    ],
    "cron-job": [
        Row("spec.jobTemplate.spec.template", "", 8, 1, "", "", 0, "plain"),
    ],
    "cron-workflow": [
        Row("spec.workflowSpec.templates[0]", "train", 8, 0, "", "", 0, "plain"),
        Row("spec.workflowSpec.templates[1]", "report", 0, 0, "", "", 0, "plain"),
        Row("spec.workflowSpec.templates[2]", "both", 1, 0, "", "", 0, "plain"),
    ],
    "daemon-set": [
        Row("spec.template", "", 8, 0, "", "", 0, "plain"),
    ],
    "deployment-extensions": [
        Row("spec.template", "", 8, 1, "", "", 0, "plain"),
    ],
    "deployment": [
        Row("spec.template", "", 8, 2, "", "", 0, "plain"),
    ],
    "hyperpod-pytorch-job": [
        Row("spec.replicaSpecs[0].template", "pods", 8, 2, "", "", 0, "plain"),
    ],
    "volcano-cron-job": [
        Row(
            "spec.jobTemplate.spec.tasks[0].template",
            *("worker", 8, 2, "VolcanoJob", "vcjob-00000000-0000-0000-0000-000000000000", 2, "volcano"),
        ),
    ],
    "volcano-job-template": [
        Row(
            "spec.tasks[0].template",
            *("worker", 8, 2, "VolcanoJob", "vcjob-00000000-0000-0000-0000-000000000000", 2, "volcano"),
        ),
    ],
    "role-based-group-set": [
        Row(
            "spec.groupTemplate.spec.roles[0].standalonePattern.template",
            *("decode", 8, 6, "RoleBasedGroup", "rbg-pool-0000000000", 3, "plain"),
        ),
    ],
    "dynamo-graph-deployment-v1beta1": [
        Row("spec.components[1].podTemplate", "decode", 4, 2, "PodCliqueSet", "disagg-0", 3, "plain"),
    ],
    "dynamo-graph-deployment": [
        Row("spec.services.Frontend", "Frontend", 0, 1, "PodCliqueSet", "disagg-0", 5, "plain"),
        Row("spec.services.Prefill", "Prefill", 4, 2, "PodCliqueSet", "disagg-0", 5, "plain"),
        Row("spec.services.Decode", "Decode", 8, 2, "PodCliqueSet", "disagg-0", 5, "plain"),
    ],
    "experiment": [
        Row(
            "spec.trialTemplate.trialSpec.spec.pytorchReplicaSpecs.Worker.template",
            *("Worker", 8, 2, "PyTorchJob", f"pytorchjob-{UID}", 2, "plain"),
        ),
    ],
    "inference-set": [
        Row("spec.template.inference.template", "", 2, 2, "", "", 0, "plain"),
    ],
    "inference-service": [
        Row("spec.predictor", "predictor", 2, 2, *_ISVC, 3, "plain"),
        Row("spec.predictor.workerSpec", "predictor-worker", 2, 2, *_ISVC, 3, "plain"),
        Row("spec.transformer", "transformer", 0, 1, "", "", 0, "plain"),
    ],
    "jax-job": [
        Row("spec.jaxReplicaSpecs.Worker.template", "Worker", 8, 4, "JAXJob", f"jaxjob-{UID}", 4, "plain"),
    ],
    "job-set": [
        Row("spec.replicatedJobs[0].template.spec.template", "driver", 0, 1, "JobSet", f"jobset-{UID}", 9, "plain"),
        Row("spec.replicatedJobs[1].template.spec.template", "workers", 8, 8, "JobSet", f"jobset-{UID}", 9, "plain"),
    ],
    "job": [
        Row("spec.template", "", 8, 4, "Job", f"job-{UID}", 4, "plain"),
    ],
    "knative-service": [
        Row("spec.template", "", 1, 0, "", "", 0, "plain"),
    ],
    "leader-worker-set-one-template": [
        Row("spec.leaderWorkerTemplate.workerTemplate", "worker", 8, 4, "LeaderWorkerSet", ANY_GROUP, 4, "plain"),
    ],
    "leader-worker-set": [
        Row("spec.leaderWorkerTemplate.leaderTemplate", "leader", 0, 2, "LeaderWorkerSet", ANY_GROUP, 4, "plain"),
        Row("spec.leaderWorkerTemplate.workerTemplate", "worker", 8, 6, "LeaderWorkerSet", ANY_GROUP, 4, "plain"),
    ],
    "list": [
        Row("items[1]", "", 8, 1, "", "", 0, "plain"),
    ],
    "llm-inference-service": [
        Row("spec.template", "leader", 8, 2, "LeaderWorkerSet", ANY_GROUP, 2, "plain"),
        Row("spec.worker", "worker", 8, 2, "LeaderWorkerSet", ANY_GROUP, 2, "plain"),
        Row("spec.prefill.template", "prefill", 4, 1, "", "", 0, "plain"),
    ],
    "llmaz-service": [
        Row("spec.workloadTemplate.leaderTemplate", "leader", 8, 2, "LeaderWorkerSet", ANY_GROUP, 3, "plain"),
        Row("spec.workloadTemplate.workerTemplate", "worker", 8, 4, "LeaderWorkerSet", ANY_GROUP, 3, "plain"),
    ],
    "model-booster": [
        Row("spec.backend.workers[0]", "prefill", 4, 2, *_BOOSTED),
        Row("spec.backend.workers[1]", "decode", 8, 1, *_BOOSTED),
    ],
    "model-serving": [
        Row("spec.template.roles[0].entryTemplate", "decode", 8, 1, *_SERVING),
        Row("spec.template.roles[0].workerTemplate", "decode", 8, 1, *_SERVING),
    ],
    "mpi-job-v1": [
        Row("spec.mpiReplicaSpecs.Launcher.template", "Launcher", 0, 1, "MPIJob", "mpijob-train", 4, "plain"),
        Row("spec.mpiReplicaSpecs.Worker.template", "Worker", 8, 3, "MPIJob", "mpijob-train", 4, "plain"),
    ],
    "mpi-job": [
        Row("spec.mpiReplicaSpecs.Launcher.template", "Launcher", 0, 1, "MPIJob", "mpijob-train", 4, "plain"),
        Row("spec.mpiReplicaSpecs.Worker.template", "Worker", 8, 3, "MPIJob", "mpijob-train", 4, "plain"),
    ],
    "notebook": [
        Row("spec.template", "", 1, 1, "", "", 0, "plain"),
    ],
    "openshift-template": [
        Row("objects[0].spec.template", "", 1, 1, "", "", 0, "plain"),
    ],
    "paddle-cloud-job": [
        Row("spec.ps.template", "ps", 0, 2, "", "", 0, "plain"),
        Row("spec.worker.template", "worker", 8, 3, "", "", 0, "plain"),
    ],
    "paddle-job": [
        Row("spec.paddleReplicaSpecs.Master.template", "Master", 8, 1, "PaddleJob", f"paddlejob-{UID}", 4, "plain"),
        Row("spec.paddleReplicaSpecs.Worker.template", "Worker", 8, 3, "PaddleJob", f"paddlejob-{UID}", 4, "plain"),
    ],
    "pod-clique-set": [
        Row("spec.template.cliques[0]", "router", 0, 1, "PodCliqueSet", "disagg-0", 7, "plain"),
        Row("spec.template.cliques[1]", "decode", 8, 6, "PodCliqueSet", "disagg-0", 7, "plain"),
    ],
    "pod-set": [
        Row("spec.template", "pod", 8, 4, "", "", 0, "plain"),
    ],
    "pod-template": [
        Row("template", "", 8, 1, "", "", 0, "plain"),
    ],
    "pod": [
        Row("", "", 8, 1, "", "", 0, "plain"),
    ],
    "pytorch-job": [
        Row("spec.pytorchReplicaSpecs.Master.template", "Master", 8, 1, "PyTorchJob", f"pytorchjob-{UID}", 4, "plain"),
        Row("spec.pytorchReplicaSpecs.Worker.template", "Worker", 8, 3, "PyTorchJob", f"pytorchjob-{UID}", 4, "plain"),
    ],
    "ray-cluster": [
        Row("spec.headGroupSpec.template", "head", 0, 1, "RayCluster", f"raycluster-{UID}", 4, "plain"),
        Row("spec.workerGroupSpecs[0].template", "gpus", 8, 3, "RayCluster", f"raycluster-{UID}", 4, "plain"),
    ],
    "ray-cron-job": [
        Row(f"{_RAY_CRON}.headGroupSpec.template", "head", 0, 1, "RayCluster", f"raycluster-{UID}", 3, "plain"),
        Row(f"{_RAY_CRON}.workerGroupSpecs[0].template", "gpus", 8, 2, "RayCluster", f"raycluster-{UID}", 3, "plain"),
    ],
    **{
        name: [
            Row("spec.template.spec.headGroupSpec.template", "head", 1, 1, *_FLEET),
            Row("spec.template.spec.workerGroupSpecs[0].template", "gpus", 1, 1, *_FLEET),
        ]
        for name in ("ray-cluster-fleet", "ray-cluster-replica-set")
    },
    "nim-service": [Row("spec", "", 2, 2, "", "", 0, "plain")],
    # The other service of the pipeline is not enabled.
    "nim-pipeline": [Row("spec.services[0].spec", "llama", 8, 2, "LeaderWorkerSet", ANY_GROUP, 2, "plain")],
    **{
        f"ome-{name}serving-runtime": [Row("spec.engineConfig", "engine", 2, 0, "", "", 0, "plain")]
        for name in ("", "cluster-")
    },
    "ome-inference-service": [
        Row("spec.engine.leader", "engine-leader", 8, 2, "LeaderWorkerSet", ANY_GROUP, 2, "plain"),
        Row("spec.engine.worker", "engine-worker", 8, 2, "LeaderWorkerSet", ANY_GROUP, 2, "plain"),
        Row("spec.decoder", "decoder", 4, 1, "", "", 0, "plain"),
        Row("spec.router", "router", 0, 1, "", "", 0, "plain"),
    ],
    "vllm-runtime": [Row("spec.deploymentConfig", "", 4, 2, "", "", 0, "plain")],
    "workspace": [Row("inference.template", "", 2, 2, "", "", 0, "plain")],
    "llm-inference-service-config": [
        Row("spec.template", "leader", 2, 0, "", "", 0, "plain"),
        Row("spec.router.scheduler.template", "router-scheduler", 0, 0, "", "", 0, "plain"),
    ],
    "ray-job": [
        Row("spec.rayClusterSpec.headGroupSpec.template", "head", 0, 1, "RayCluster", f"raycluster-{UID}", 4, "plain"),
        Row(
            "spec.rayClusterSpec.workerGroupSpecs[0].template",
            "gpus",
            8,
            3,
            "RayCluster",
            f"raycluster-{UID}",
            4,
            "plain",
        ),
        Row("spec.submitterPodTemplate", "submitter", 0, 1, "", "", 0, "plain"),
    ],
    "ray-service": [
        Row(
            "spec.rayClusterConfig.headGroupSpec.template", "head", 0, 1, "RayCluster", f"raycluster-{UID}", 4, "plain"
        ),
        Row(
            "spec.rayClusterConfig.workerGroupSpecs[0].template",
            "gpus",
            8,
            3,
            "RayCluster",
            f"raycluster-{UID}",
            4,
            "plain",
        ),
    ],
    "replica-set": [
        Row("spec.template", "", 8, 2, "", "", 0, "plain"),
    ],
    "replication-controller": [
        Row("spec.template", "", 8, 2, "", "", 0, "plain"),
    ],
    "role-based-group-v1alpha2": [
        Row("spec.roles[0].standalonePattern.template", "router", 0, 1, "RoleBasedGroup", "rbg-pd", 3, "plain"),
        Row("spec.roles[1].leaderWorkerPattern.template", "decode", 8, 2, "RoleBasedGroup", "rbg-pd", 3, "plain"),
    ],
    "role-based-group": [
        Row("spec.roles[0].template", "prefill", 8, 2, "RoleBasedGroup", "rbg-pd", 4, "coscheduling"),
        Row("spec.roles[1].template", "decode", 8, 2, "RoleBasedGroup", "rbg-pd", 4, "coscheduling"),
    ],
    "role-set": [
        Row("spec.roles[0].template", "decode", 8, 4, "RoleSet", "roleset-pd", 4, "plain"),
    ],
    "rollout": [
        Row("spec.template", "", 8, 2, "", "", 0, "plain"),
    ],
    "seldon-deployment": [
        Row("spec.predictors[0].componentSpecs[0]", "", 1, 2, "", "", 0, "plain"),
        Row("spec.predictors[0].componentSpecs[1]", "", 0, 3, "", "", 0, "plain"),
        # KEDA may scale it to none.
        Row("spec.predictors[1].componentSpecs[0]", "", 2, 0, "", "", 0, "plain"),
        Row("spec.predictors[0].explainer", "explainer", 1, 1, "", "", 0, "plain"),
    ],
    "serving-runtime": [
        Row("spec", "runtime", 1, 0, "", "", 0, "plain"),
    ],
    "spark-application": [
        Row("spec.driver", "driver", 0, 1, "Spark", "spark-0000000000", 4, "plain"),
        Row("spec.executor", "executor", 2, 3, "Spark", "spark-0000000000", 4, "plain"),
    ],
    "stateful-set": [
        Row("spec.template", "", 8, 2, "", "", 0, "plain"),
    ],
    "storm-service": [
        Row("spec.template.spec.roles[0].template", "prefill", 8, 1, *_ROLE_SET, "coscheduling"),
        Row("spec.template.spec.roles[1].template", "decode", 8, 4, *_ROLE_SET, "coscheduling"),
    ],
    "tf-job-v1alpha1": [
        Row("spec.replicaSpecs[0].template", "", 0, 2, "TFJob", f"tfjob-{UID}", 6, "plain"),
        Row("spec.replicaSpecs[1].template", "", 8, 4, "TFJob", f"tfjob-{UID}", 6, "plain"),
    ],
    "tf-job": [
        Row("spec.tfReplicaSpecs.Chief.template", "Chief", 8, 1, "TFJob", f"tfjob-{UID}", 4, "plain"),
        Row("spec.tfReplicaSpecs.Worker.template", "Worker", 8, 3, "TFJob", f"tfjob-{UID}", 4, "plain"),
    ],
    "train-job": [
        Row("spec", "trainer", 4, 4, "JobSet", f"jobset-{UID}", 4, "plain"),
    ],
    "training-runtime": [
        Row(
            "spec.template.spec.replicatedJobs[0].template.spec.template",
            "node",
            8,
            2,
            "JobSet",
            f"jobset-{UID}",
            2,
            "plain",
        ),
    ],
    "volcano-job": [
        Row("spec.tasks[0].template", "driver", 0, 1, "VolcanoJob", f"vcjob-{UID}", 5, "volcano"),
        Row("spec.tasks[1].template", "worker", 8, 4, "VolcanoJob", f"vcjob-{UID}", 5, "volcano"),
    ],
    "workflow-template": [
        Row("spec.templates[0]", "train", 8, 0, "", "", 0, "plain"),
        Row("spec.templates[1]", "report", 0, 0, "", "", 0, "plain"),
        Row("spec.templates[2]", "both", 1, 0, "", "", 0, "plain"),
    ],
    "workflow": [
        Row("spec.templates[0]", "train", 8, 0, "", "", 0, "plain"),
        Row("spec.templates[1]", "report", 0, 0, "", "", 0, "plain"),
        Row("spec.templates[2]", "both", 1, 0, "", "", 0, "plain"),
    ],
    "xgboost-job": [
        Row("spec.xgbReplicaSpecs.Master.template", "Master", 8, 1, "XGBoostJob", f"xgboostjob-{UID}", 4, "plain"),
        Row("spec.xgbReplicaSpecs.Worker.template", "Worker", 8, 3, "XGBoostJob", f"xgboostjob-{UID}", 4, "plain"),
    ],
}


def row(template: Template) -> Row:
    assert template.problems == ()
    assert shape_problems(template.pod) == []
    gang = gang_of(template.pod, "ml", template.owners)
    place = render_path(template.path)
    gpus = gpu_facts(template.pod).count
    return Row(place, template.role, gpus, template.replicas, gang.source, gang.name, gang.size, gang.system)


@pytest.mark.parametrize("name", FOUND)
def test_every_template_is_found_with_its_gpus_and_its_gang(name: str) -> None:
    [document] = documents(MANIFESTS[name])
    assert is_known(document)
    assert [row(each) for each in found_in(document)] == FOUND[name]


def test_every_kind_has_a_manifest_and_every_manifest_is_looked_at() -> None:
    shown = {str(document["kind"]) for document in KNOWN}
    # Knative's Configuration has the same template as the Service.
    assert {each.kind for each in KINDS} - shown == {"Configuration"}
    assert FOUND.keys() == MANIFESTS.keys()


def test_the_manifest_is_left_as_it_is() -> None:
    for file in MANIFESTS.values():
        for before, document in zip(documents(file), documents(file), strict=True):
            found_in(document)
            assert document == before


def test_kinds_that_make_no_pods_are_known_and_others_are_not() -> None:
    for name in [("v1", "Service"), ("rbac.authorization.k8s.io/v1", "Role"), ("apps/v1", "Deployment")]:
        assert is_known({"apiVersion": name[0], "kind": name[1]})
    strange: list[tuple[Any, Any]] = [("example.com/v1", "Service"), ("apps/v1", "X"), ("v1", ["Pod"]), (None, "Pod")]
    for version, kind in strange:
        assert not is_known({"apiVersion": version, "kind": kind})
    assert is_known({"apiVersion": "apps/v1", "kind": "DeploymentList", "items": []})


def test_a_path_of_the_users_own_leads_to_a_template_or_a_pod_spec() -> None:
    containers = [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 2}}}]
    document = {
        "apiVersion": "example.com/v1",
        "kind": "Farm",
        "spec": {"barns": [{"template": {"spec": {"containers": containers}}}], "pod": {"containers": containers}},
    }
    assert found_in(document) == []
    extra = {"Farm": [("spec", "barns", "*", "template"), ("spec", "pod")]}
    found = templates(document, namespace="ml", extra=extra)
    assert [render_path(each.path) for each in found] == ["spec.barns[0].template", "spec.pod"]
    assert [gpu_facts(each.pod).count for each in found] == [2, 2]


def test_a_string_in_the_place_of_a_list_is_reported() -> None:
    [found] = found_in({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": "x"}})
    assert found.problems == ("spec.replicatedJobs: got string, want a list or an object",)
    [found] = found_in({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}})
    assert found.problems == ("spec.template: got nothing, want a pod template",)
    [found] = found_in({"apiVersion": "apps/v1", "kind": "Deployment", "spec": 3})
    assert found.problems == ("spec: got integer, want an object",)
    [found] = found_in({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": [1]}})
    assert found.problems == ("spec.template: got list, want an object",)


def test_a_train_job_without_its_runtime_still_shows_the_gpus_of_a_node() -> None:
    [document] = documents(MANIFESTS["train-job"])
    [found] = templates(document, namespace="default")
    assert gpu_facts(found.pod).count == 4
    [with_runtime] = found_in(document)
    assert with_runtime.pod["spec"]["containers"][0]["image"] == "example.com/train:1"


# Of no namespace, made by nobody as such, of API groups that are gone, or filled in before anything runs.
NOT_SENT = {
    ("", "lists"),
    ("", "podtemplates"),
    ("argoproj.io", "clusterworkflowtemplates"),
    ("ome.io", "clusterservingruntimes"),
    ("serving.kserve.io", "clusterservingruntimes"),
    ("template.openshift.io", "templates"),
    ("trainer.kubeflow.org", "clustertrainingruntimes"),
    ("serving.kubeflow.org", "inferenceservices"),
    *(("extensions", each) for each in ("daemonsets", "deployments", "jobs", "replicasets")),
}


def test_every_kind_that_is_applied_is_sent_to_podberth() -> None:
    [entries] = documents(ROOT / "manifests" / "base" / "validating-webhook.yaml")
    sent = {
        (group, plural)
        for webhook in entries["webhooks"]
        if webhook["clientConfig"]["service"]["path"] == "/validate-workload"
        for rule in webhook["rules"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
    kinds = {(version.rpartition("/")[0], f"{each.kind.lower()}s") for each in KINDS for version in each.api_versions}
    assert kinds - sent == NOT_SENT
    assert sent <= kinds
