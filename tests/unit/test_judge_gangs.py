"""Twins of typical workloads of tests/precision/gangs.jsonl, against the same hand count."""

import json
from pathlib import Path
from typing import Any

import pytest
from judge_gangs import GANGS, by_hand, compared, counted, main

from builders import gpu_pod, job, pod, stateful_set, template, workload

JSON = dict[str, Any]
ENTRIES = [json.loads(line) for line in GANGS.read_text(encoding="utf-8").splitlines()]
EQUAL = dict.fromkeys(("name", "size", "roles", "accelerated"), "equal")
CPU, EIGHT = template(pod()), template(gpu_pod(8))


def mpi_job(name: str, workers: int) -> JSON:
    roles = {"Launcher": {"replicas": 1, "template": CPU}, "Worker": {"replicas": workers, "template": EIGHT}}
    return workload("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": roles}, name=name)


def job_set(name: str, rows: dict[str, int]) -> JSON:
    jobs = [
        {"name": role, "replicas": 1, "template": {"spec": {"parallelism": n, "completions": n, "template": CPU}}}
        for role, n in rows.items()
    ]
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs}, name=name)


def ray_cluster(name: str, group: str, workers: int) -> JSON:
    groups = [{"groupName": group, "replicas": workers, "template": EIGHT}]
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": CPU}, "workerGroupSpecs": groups}
    return workload("ray.io/v1", "RayCluster", spec, name=name)


def leader_worker_set(name: str) -> JSON:
    inner = {"size": 2, "leaderTemplate": EIGHT, "workerTemplate": EIGHT}
    return workload(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"replicas": 1, "leaderWorkerTemplate": inner}, name=name
    )


def replicated(kind: str, field: str, name: str, roles: dict[str, int], body: JSON) -> JSON:
    spec = {field: {role: {"replicas": n, "template": body} for role, n in roles.items()}}
    return workload("kubeflow.org/v1", kind, spec, name=name)


def volcano_job(name: str) -> JSON:
    tasks = [{"name": role, "replicas": n, "template": CPU} for role, n in (("ps", 1), ("worker", 2))]
    return workload("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 3, "tasks": tasks}, name=name)


@pytest.mark.parametrize(
    ("number", "twin"),
    [
        (8, job(gpu_pod(1), indexed=True, parallelism=1)),
        (18, job_set("onjobfailurereasons-present-example", {"leader": 2, "workers": 2})),
        (27, leader_worker_set("vllm-multi-nodes")),
        (28, mpi_job("nccl-test-a100", 2)),
        (31, mpi_job("nccl-test-64-a100-noib-8n", 8)),
        (
            53,
            replicated(
                "PyTorchJob", "pytorchReplicaSpecs", "wan22-i2v-distributed2-s3", {"Master": 1, "Worker": 1}, EIGHT
            ),
        ),
        (55, ray_cluster("b200-ray-cluster", "gpu-group", 2)),
        (84, stateful_set(gpu_pod(1))),
        (90, replicated("TFJob", "tfReplicaSpecs", "dist-mnist-for-e2e-test", {"PS": 2, "Worker": 4}, CPU)),
        (97, volcano_job("tensorflow-dist-mnist")),
        (
            99,
            replicated(
                "XGBoostJob", "xgbReplicaSpecs", "xgboost-dist-iris-test-train", {"Master": 1, "Worker": 2}, CPU
            ),
        ),
    ],
    ids=lambda value: ENTRIES[value]["kind"] if isinstance(value, int) else "",
)
def test_a_twin_of_a_counted_workload_has_the_hand_count(number: int, twin: JSON) -> None:
    assert compared(by_hand(ENTRIES[number]), counted(twin, [twin])) == EQUAL


def test_each_aspect_that_differs_says_what_was_counted() -> None:
    twin = ray_cluster("other", "gpu-group", 3)
    judged = compared(by_hand(ENTRIES[55]), counted(twin, [twin]))
    assert judged["size"] == "got 4, want 3"
    assert judged["accelerated"] == "got 3, want 2"
    assert judged["name"].startswith("got [")
    assert judged["roles"].startswith("got {'head': 1, 'gpu-group': 3}")


def test_the_command_compares_the_manifests_that_the_folder_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = ENTRIES[28]
    place = tmp_path / entry["repository"].replace("/", "+") / entry["path"]
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(mpi_job("nccl-test-a100", 2)), encoding="utf-8")
    assert main([str(tmp_path)]) == (0 if entry["document"] == 0 else 1)
    assert "MPIJob nccl-test-a100: equal\nname: 1 equal\n" in capsys.readouterr().out
