"""Rules of groups that several kinds share."""

from typing import Any

import pytest

from podberth.kinds.dossiers import job, mpi_operator, volcano
from podberth.kinds.group_rules import job_minimums


def test_one_pod_that_is_made_is_singular() -> None:
    spec = {"parallelism": 3, "completions": 1, "completionMode": "Indexed"}

    assert list(job_minimums({"spec": spec}, "spec")) == [
        (("spec", "completions"), "got 1, want 3, as parallelism: of 3 pods only 1 is ever made")
    ]


def test_a_task_of_volcano_without_replicas_counts_as_no_pod_of_the_minimum() -> None:
    [rules] = volcano.DOSSIER.group_rules
    assert rules.minimums is not None
    tasks = [{"name": "master", "minAvailable": 1}, {"name": "worker", "replicas": 1}]

    assert list(rules.minimums({"kind": "Job", "spec": {"minAvailable": 2, "tasks": tasks}})) == [
        (("spec", "tasks", 0, "minAvailable"), "got 1, want 0 at most, its replicas: the group never starts"),
        (("spec", "minAvailable"), "got 2, want 1 at most, the pods of its tasks: the group never starts"),
    ]


def test_workers_of_an_mpi_job_without_replicas_count_as_no_pod_of_the_minimum() -> None:
    [rules] = mpi_operator.DOSSIER.group_rules
    assert rules.minimums is not None
    spec = {
        "mpiReplicaSpecs": {"Launcher": {}, "Worker": {}},
        "runPolicy": {"schedulingPolicy": {"minAvailable": 2}},
    }

    assert list(rules.minimums({"kind": "MPIJob", "spec": spec})) == [
        (
            ("spec", "runPolicy", "schedulingPolicy", "minAvailable"),
            "got 2, want 1 at most, the pods of its roles: the group never starts",
        ),
    ]


@pytest.mark.parametrize(
    ("spec", "least", "said"),
    [
        (
            {"parallelism": 9, "completions": 9},
            "9",
            ["got 9, want 1 to 8, fewer than its 9 pods: Kueue refuses the Job"],
        ),
        (
            {"parallelism": 9, "completions": 4},
            "4",
            ["got 4, want 1 to 3, fewer than its 4 pods: Kueue refuses the Job"],
        ),
        ({"parallelism": 9}, "0", ["got 0, want 1 to 8, fewer than its 9 pods: Kueue refuses the Job"]),
        ({}, "1", ["got 1, want none, for it has one pod: Kueue refuses the Job"]),
        ({"parallelism": 9}, "8", []),
        ({"parallelism": 9}, "1", []),
        ({"parallelism": "${N}"}, "1", []),
    ],
)
def test_kueues_minimum_of_a_job_is_below_the_number_of_its_pods(
    spec: dict[str, Any], least: str, said: list[str]
) -> None:
    steps = ("metadata", "annotations", "kueue.x-k8s.io/job-min-parallelism")
    made = {"metadata": {"annotations": {steps[-1]: least}}, "spec": spec}
    of_job, of_cron_job = (each.minimums for each in job.DOSSIER.group_rules)
    assert of_job is not None
    assert of_cron_job is not None

    assert list(of_job({"kind": "Job", **made})) == [(steps, each) for each in said]
    in_cron_job = [(("spec", "jobTemplate", *steps), each) for each in said]
    assert list(of_cron_job({"kind": "CronJob", "spec": {"jobTemplate": made}})) == in_cron_job
