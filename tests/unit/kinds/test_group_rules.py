"""Rules of groups that several kinds share."""

from podberth.kinds.dossiers import mpi_operator, volcano
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
