"""Slips of names in operators' objects outside their pod templates: a warning that names the field that was meant."""

from typing import Any

import pytest

from builders import gpu_pod, template
from checking import one
from podberth.check.misspelt_fields import misspelt_fields
from podberth.check.report.text import _below

JSON = dict[str, Any]
EIGHT = template(gpu_pod(8))
GPUS = {"limits": {"nvidia.com/gpu": 8}}


def of(version: str, kind: str, **spec: Any) -> JSON:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


SLIPS: list[tuple[JSON, str]] = [
    (of("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpec={}), "pytorchReplicaSpecs"),
    (of("ray.io/v1", "RayCluster", workerGroupSpecs=[{"replica": 2, "template": EIGHT}]), "replicas"),
    (of("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=[{"replica": 2}]), "replicas"),
    (
        of("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=[{"template": {"spec": {"paralelism": 2}}}]),
        "parallelism",
    ),
    (of("batch.volcano.sh/v1alpha1", "Job", minAvailabel=2), "minAvailable"),
    (of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", leaderWorkerTemplate={"sizes": 4}), "size"),
    (of("serving.kserve.io/v1beta1", "InferenceService", predictor={"model": {"resource": GPUS}}), "resources"),
    (of("ome.io/v1beta1", "InferenceService", engine={"runner": {"resource": GPUS}}), "resources"),
    (of("apps.nvidia.com/v1alpha1", "NIMService", toleration=[]), "tolerations"),
    # Known by the CRD alone: two slips in one name, underscores, and a kind without pods
    (
        of("ray.io/v1", "RayCluster", workerGroupSpecs=[{"idleTimoutSecond": 2, "template": EIGHT}]),
        "idleTimeoutSeconds",
    ),
    (of("ray.io/v1", "RayCluster", enable_in_tree_autoscaling=True), "enableInTreeAutoscaling"),
    (of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", rolloutStrategy={"typ": "x"}), "type"),
    (of("kubeflow.org/v2beta1", "MPIJob", runPolicy={"schedulingPolicy": {"minAvailables": 2}}), "minAvailable"),
    (
        of("kueue.x-k8s.io/v1beta2", "ClusterQueue", resourceGroups=[{"coveredResource": ["nvidia.com/gpu"]}]),
        "coveredResources",
    ),
    ({"kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2", "Spec": {}}, "spec"),
]


@pytest.mark.parametrize(("document", "meant"), SLIPS, ids=[f"{each['kind']}-{meant}" for each, meant in SLIPS])
def test_a_slip_names_the_field_that_was_meant(document: JSON, meant: str) -> None:
    [(path, message)] = misspelt_fields(document)
    assert message == f"got {path[-1]}; did you mean {meant}?"


@pytest.mark.parametrize(
    "document",
    [
        # A field that the object has under its right name, too; one that is two letters away; an unknown field
        of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", leaderWorkerTemplate={"size": 2, "sizes": 4}),
        of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", leaderWorkerTemplate={"sizing": 4, "new": 1}),
        of("apps/v1", "Deployment", replica=2),  # whose types are known
        of("example.com/v1", "Model", replica=2),
        # A field of another release whose words are not all known, and one of which the place is unclear
        of("ray.io/v1", "RayCluster", headGroupSpec={"minReplicas": 1}, autoscalerTimeouts={}),
        of("serving.kserve.io/v1beta1", "InferenceService", nodeName="a"),
        # A Volcano Job has volumes, and so has its pod
        of("batch.volcano.sh/v1alpha1", "Job", tasks=[{"template": {"spec": {}}, "volumes": [{"mountPath": "/a"}]}]),
        # The API server keeps unknown fields, so that they may be anything that is no slip
        of("nvidia.com/v1beta1", "DynamoGraphDeployment", components=[{"podTemplate": {"spec": {"enable_x": 1}}}]),
        of("ray.io/v1", "RayCluster", workerGroupSpecs="x"),
        {**of("ray.io/v1", "RayCluster"), "spec": None},
    ],
)
def test_nothing_else_is_reported(document: JSON) -> None:
    assert list(misspelt_fields(document)) == []


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (of("kubeflow.org/v2beta1", "MPIJob", cleanPodPolicy="All"), "spec.runPolicy"),
        (of("serving.kserve.io/v1beta1", "InferenceService", predictor={}, nodeName="a"), "spec.predictor"),
        (
            of("serving.kserve.io/v1beta1", "InferenceService", predictor={"model": {"minReplicas": 2}}),
            "spec.predictor",
        ),
        (
            of("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=[{"name": "a", "parallelism": 2}]),
            "spec.replicatedJobs[0].template.spec",
        ),
        (
            of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", size=4, leaderWorkerTemplate={}),
            "spec.leaderWorkerTemplate",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else each["kind"],
)
def test_a_misplaced_field_has_the_place_where_it_belongs(document: JSON, place: str) -> None:
    [(path, message)] = misspelt_fields(document)
    assert message == f"got {path[-1]}, which is lost here; it belongs in {place}"


RBG_SET = "workloads.x-k8s.io/v1alpha2", "RoleBasedGroupSet"


@pytest.mark.parametrize(
    ("document", "at"),
    [
        (
            of(*RBG_SET, groupTemplate={"spec": {"roleTemplates": [{"name": "base", "template": EIGHT}], "roles": []}}),
            "roleTemplates",
        ),
        (of("workloads.x-k8s.io/v1alpha1", RBG_SET[1], template={"roleTemplates": []}), "roleTemplates"),
        (of(*RBG_SET, groupTemplate={"metadata": {"labels": {"a": "b"}}, "spec": {"roles": []}}), "metadata"),
    ],
)
def test_a_field_that_the_operator_never_reads_is_reported(document: JSON, at: str) -> None:
    [(path, message)] = misspelt_fields(document)
    assert path[-1] == at
    assert "write" in message


def test_a_workload_without_templates_because_of_a_slip_is_no_silent_skip() -> None:
    worker = "{replicas: 2, template: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]}}}"
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t}\nspec:\n"
    text = f"{head}  pytorchReplicaSpec: {{Worker: {worker}}}\n"
    result = one(text)
    assert (result.verdict, [(each.line, each.message) for each in result.warnings]) == (
        "skipped",
        [(5, "got pytorchReplicaSpec; did you mean pytorchReplicaSpecs?; nothing of this PyTorchJob is checked")],
    )


def test_a_slip_in_a_group_or_a_queue_is_reported_though_it_has_no_pods() -> None:
    head = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec:\n"
    result = one(f"{head}  minMenber: 4\n")
    assert [(each.line, each.message) for each in result.warnings] == [(5, "got minMenber; did you mean minMember?")]


def test_a_field_beside_a_template_is_not_shown_as_one_inside() -> None:
    assert _below("spec.workerTemplate", "spec.workerTemplates") == "spec.workerTemplates"
    assert [_below("spec", each) for each in ("spec.a", "spec[0]", "spec")] == ["a", "[0]", ""]
