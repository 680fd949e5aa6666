"""The floor's native policies on new pods: what they write and say is what the shipped policies do."""

from functools import cache
from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, owned, pod
from floors import Floor, data_of, mark, params, policies, received
from node_builders import node_manifest
from podberth.native.documents import is_native
from podberth.workload.gangs import gang_of
from shipped import NODES
from tools_run import check

DATA = data_of(
    [
        node_manifest("a", devices={"nvidia.com/gpu": "8"}, taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]),
        node_manifest(
            "b", devices={"nvidia.com/gpu": "8"}, taints=[{"key": "sku", "value": "gpu", "effect": "NoSchedule"}]
        ),
        node_manifest("c", devices={"amd.com/gpu": "8", "nvidia.com/GPU": "1", "rdma/hca": "1"}),
    ]
)
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
SKU = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
BOTH = "nvidia.com/gpu:NoSchedule sku=gpu:NoSchedule"


@cache
def floor() -> Floor:
    return Floor(DATA)


def tolerations(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tolerations, without those that the API server gives every pod."""
    found = document["spec"].get("tolerations") or []
    return [each for each in found if not str(each.get("key")).startswith("node.kubernetes.io/")]


def test_the_component_is_what_its_tool_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (check("floor_manifests", monkeypatch), *capsys.readouterr()) == (0, "", "")
    assert all(is_native(each) for each in policies())
    assert {each["spec"].get("failurePolicy", "Ignore") for each in policies()} == {"Ignore"}


def test_a_pod_with_accelerators_tolerates_their_taints_and_says_so() -> None:
    made = floor().on(gpu_pod())
    assert tolerations(made) == [GPU, SKU]
    assert mark(made) == BOTH
    assert made["metadata"]["labels"] == {"podberth.io/floor": "wrote"}
    made = floor().on(pod(container(), init=[gpu_container("first")]))
    assert tolerations(made) == [GPU, SKU]


@pytest.mark.parametrize(
    "untouched",
    [
        pod(),
        gpu_pod(resource="rdma/hca"),
        gpu_pod(resource="nvidia.com/GPU.x"),
        gpu_pod(annotations={"kubernetes.io/config.mirror": "x"}),
        {**gpu_pod(), "metadata": {"name": "a", "namespace": "exempt"}},
        {**gpu_pod(), "metadata": {"name": "a", "namespace": "kube-system"}},
    ],
    ids=["no request", "a network card", "an unknown name", "a mirror pod", "an exempt label", "an exempt name"],
)
def test_other_pods_are_left_as_they_are(untouched: dict[str, Any]) -> None:
    assert floor().on(untouched) == received(untouched)


@pytest.mark.parametrize("data", [None, {}])
def test_without_params_nothing_is_written(data: dict[str, str] | None) -> None:
    assert Floor(data).on(gpu_pod()) == received(gpu_pod())


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], [GPU, SKU]),
        ([{"key": "nvidia.com/gpu", "operator": "Exists"}], [SKU]),
        ([{"key": "nvidia.com/gpu", "operator": "Equal", "value": "x"}], [GPU, SKU]),
        ([{"key": "sku", "operator": "Equal", "value": "gpu"}, {"key": "sku", "value": "cpu"}], [GPU]),
        ([{"key": "sku", "value": "gpu", "effect": "NoSchedule"}], [GPU]),
        ([{"key": "sku", "operator": "Gt", "value": "1"}], [GPU, SKU]),
    ],
)
def test_what_the_author_tolerates_is_left_in_the_authors_spelling(
    own: list[dict[str, Any]], added: list[dict[str, Any]]
) -> None:
    made = floor().on(gpu_pod(tolerations=own))
    assert tolerations(made) == [*own, *added]


@pytest.mark.parametrize(
    "foreign",
    [
        gpu_pod(annotations={"gpu-fraction": "0.5"}),
        gpu_pod(schedulerName="hami-scheduler"),
        pod(container(limits={"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000})),
        gpu_pod(labels={"yunikorn.apache.org/app-id": "a"}),
        gpu_pod(annotations={"slurmjob.slinky.slurm.net/partition": "a"}),
        gpu_pod(0),
    ],
    ids=["KAI's fraction", "HAMi", "HAMi's memory", "YuniKorn", "Slurm", "none of it"],
)
def test_tolerations_that_podberth_would_not_write_are_not_written(foreign: dict[str, Any]) -> None:
    made = floor().on(foreign)
    assert tolerations(made) == []
    assert mark(made) == ""


def test_on_the_cluster_of_the_shipped_policies_every_pod_with_accelerators_gets_its_taints() -> None:
    known = Floor(data_of(NODES))
    assert tolerations(known.on(gpu_pod(resource="nvidia.com/mig-1g.5gb"))) == [GPU]


# ---- gangs ----------------------------------------------------------------------------------------------------------

JOB_SET = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/jobset-uid": "5f0c"}
RAY = {"ray.io/cluster": "serve", "ray.io/node-type": "worker"}
LWS = {"leaderworkerset.sigs.k8s.io/name": "vllm", "leaderworkerset.sigs.k8s.io/group-key": "9a3b"}
KUBEFLOW = {"training.kubeflow.org/job-name": "train"}
MEMBERS = {
    "JobSet": gpu_pod(labels=JOB_SET),
    "JobSet of an older controller": gpu_pod(labels={"jobset.sigs.k8s.io/jobset-name": "train"}),
    "LeaderWorkerSet": gpu_pod(labels=LWS),
    "PyTorchJob": owned(gpu_pod(labels=KUBEFLOW), "PyTorchJob", api_version="kubeflow.org/v1", uid="77aa"),
    "HyperPodPyTorchJob": owned(
        gpu_pod(labels=KUBEFLOW), "HyperPodPyTorchJob", api_version="sagemaker.amazonaws.com/v1", uid="77aa"
    ),
    "MPIJob": owned(gpu_pod(labels=KUBEFLOW), "MPIJob", api_version="kubeflow.org/v2beta1", uid="77aa"),
    "MPIJob's launcher": owned(gpu_pod(labels=KUBEFLOW), "Job", api_version="batch/v1", uid="77aa"),
    "RayCluster": owned(gpu_pod(labels=RAY), "RayCluster", api_version="ray.io/v1", uid="88bb"),
    "RayCluster without an owner": gpu_pod(labels=RAY),
}


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
def test_a_members_gang_has_the_name_that_podberth_gives_it(member: dict[str, Any]) -> None:
    made = floor().on(member)
    assert made["metadata"]["labels"]["podberth.io/gang"] == gang_of(member, "default", {}).name != ""
    assert mark(made) == f"{BOTH} gang"


NO_MEMBERS = {
    "no label of an operator": gpu_pod(),
    "the author's own gang": gpu_pod(labels={**JOB_SET, "podberth.io/gang": "mine"}),
    "two operators": gpu_pod(labels={**JOB_SET, **LWS}),
    "a queue of Kueue": gpu_pod(labels={**JOB_SET, "kueue.x-k8s.io/queue-name": "q"}),
    "a group of Volcano": gpu_pod(labels=JOB_SET, annotations={"scheduling.k8s.io/group-name": "g"}),
    "another scheduler": gpu_pod(labels=JOB_SET, schedulerName="kai-scheduler"),
    "a native group": gpu_pod(labels=JOB_SET, schedulingGroup={"podGroupName": "g"}),
    "Ray's clean-up": gpu_pod(labels={**RAY, "ray.io/node-type": "redis-cleanup"}),
    "a leader whose key LWS has not written": gpu_pod(labels={"leaderworkerset.sigs.k8s.io/name": "vllm"}),
    "a name for which podberth makes a digest": gpu_pod(labels={"jobset.sigs.k8s.io/jobset-name": "x" * 60}),
    "no accelerator": pod(labels=JOB_SET),
}


@pytest.mark.parametrize("other", NO_MEMBERS.values(), ids=NO_MEMBERS)
def test_where_podberth_alone_knows_the_gang_no_label_is_written(other: dict[str, Any]) -> None:
    before = (other["metadata"].get("labels") or {}).get("podberth.io/gang")
    assert (floor().on(other)["metadata"].get("labels") or {}).get("podberth.io/gang") == before


# ---- names that nobody serves ---------------------------------------------------------------------------------------


def said(document: dict[str, Any], data: dict[str, str]) -> list[tuple[str, str]]:
    known = Floor(data)
    return known.said(known.on(document))


def test_a_name_that_nobody_serves_is_denied_where_nodes_are_known_and_else_warned_of() -> None:
    wrong = gpu_pod(resource="nvidia.com/gpus")
    want = "container main: resources.limits[nvidia.com/gpus]: {} a device of this name; want nvidia.com/gpu"
    assert said(wrong, DATA) == [("deny", want.format("nobody serves"))]
    assert said(wrong, {}) == [("warn", want.format("no device plugin serves"))]


def test_a_name_that_a_node_has_all_the_same_is_believed() -> None:
    assert said(gpu_pod(resource="nvidia.com/GPU"), DATA) == []
    assert said(gpu_pod(), DATA) == []


def test_nothing_is_said_of_a_pod_that_podberth_has_seen() -> None:
    assert floor().said(received(gpu_pod(resource="nvidia.com/gpus"))) == []


def test_the_params_are_a_config_map_that_a_cluster_takes() -> None:
    assert set(params(DATA)["data"]) == {"nodes", "nvidia.com_gpu", "amd.com_gpu", "nvidia.com_GPU", "rdma_hca"}
