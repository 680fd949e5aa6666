"""Group systems by what a pod carries."""

from typing import Any

import pytest

from podberth.workload.systems import SYSTEMS, system_of

JSON = dict[str, Any]


@pytest.mark.parametrize(
    ("spec", "labels", "annotations", "system"),
    [
        ({}, {}, {}, "plain"),
        ({"schedulerName": "default-scheduler"}, {"app": "x"}, {"a": "b"}, "plain"),
        ({"schedulerName": "my-own-scheduler"}, {}, {}, "plain"),
        ({"schedulingGroup": {"podGroupName": "g"}}, {}, {}, "native"),
        ({"schedulingGroup": None}, {}, {}, "plain"),
        ({"workloadRef": {"name": "w", "podGroup": "g"}}, {}, {}, "native"),
        ({}, {"kueue.x-k8s.io/queue-name": "q"}, {}, "kueue"),
        ({}, {}, {"kueue.x-k8s.io/podset-required-topology": "rack"}, "kueue"),
        ({}, {}, {"kueue.x-k8s.io/pod-group-name": "g"}, "kueue"),
        ({}, {}, {"kueue.x-k8s.io/podset-slice-required-topology-constraints": "[]"}, "kueue"),
        ({"schedulerName": "volcano"}, {}, {}, "volcano"),
        ({}, {}, {"scheduling.k8s.io/group-name": "g"}, "volcano"),
        ({"schedulerName": "kai-scheduler"}, {}, {}, "kai"),
        ({}, {"kai.scheduler/queue": "q"}, {}, "kai"),
        ({"schedulerName": "koord-scheduler"}, {"scheduling.x-k8s.io/pod-group": "g"}, {}, "koordinator"),
        ({}, {}, {"gang.scheduling.koordinator.sh/name": "g"}, "koordinator"),
        ({"schedulerName": "scheduler-plugins"}, {"scheduling.x-k8s.io/pod-group": "g"}, {}, "coscheduling"),
        ({"schedulerName": "slurm-bridge-scheduler"}, {"scheduling.x-k8s.io/pod-group": "g"}, {}, "slurm-bridge"),
        ({}, {"scheduler.slinky.slurm.net/slurm-jobid": "7"}, {}, "slurm-bridge"),
        ({}, {}, {"slurmjob.slinky.slurm.net/partition": "gpu"}, "slurm-bridge"),
        ({"schedulerName": "slurm-bridge-scheduler", "schedulingGroup": {"podGroupName": "g"}}, {}, {}, "native"),
        ({"schedulerName": "yunikorn"}, {"queue": "root.x", "applicationId": "a"}, {}, "yunikorn"),
        ({}, {}, {"yunikorn.apache.org/task-groups": "[]"}, "yunikorn"),
        ({}, {"queue": "x"}, {}, "plain"),
    ],
)
def test_a_system_is_known_by_what_the_pod_carries(spec: JSON, labels: JSON, annotations: JSON, system: str) -> None:
    """tests/real-manifests.md 14 and 15: gang keys live everywhere."""
    assert system_of(spec, labels, annotations) == system


def test_the_more_decisive_system_wins() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "q", "scheduling.x-k8s.io/pod-group": "g"}
    assert system_of({"schedulerName": "volcano"}, labels, {}) == "kueue"
    assert system_of({"schedulingGroup": {"podGroupName": "g"}}, labels, {}) == "native"


def test_a_queue_on_the_owner_speaks_for_the_pod() -> None:
    """tests/real-manifests.md 15: the queue name stands on the object in 83 files."""
    assert system_of({}, {}, {}, ["kueue.x-k8s.io/queue-name"]) == "kueue"
    assert system_of({}, {}, {}, ["app"]) == "plain"


def test_every_row_names_its_source() -> None:
    assert all(row.source for row in SYSTEMS)
    assert len({row.name for row in SYSTEMS}) == len(SYSTEMS)
