"""Refused pods: which Events count, and what of their text goes into a command."""

from typing import Any

import pytest

from builders import gpu_pod
from podberth.why.diagnosis import Diagnosis
from podberth.why.picture import Ref
from why_pictures import Document, node, placed, why

EVENTS = Ref("", ("v1",), "events", "default", fields="reason=FailedCreate")


def refusal(message: str = "x", kind: str = "ReplicaSet", **about: Any) -> Document:
    return {
        "involvedObject": {"kind": kind, "name": "train", **about},
        "message": message,
        "lastTimestamp": "2026-01-31T11:40:00Z",
    }


def first(event: Document, controller: Document) -> Diagnosis:
    run = placed(gpu_pod(1), "a")
    own = {**controller, "metadata": {"name": "train", "uid": "new"}}
    read = {EVENTS: {"items": [event]}}
    return why(run, node("a"), kind="workload", controllers=(own,), siblings=(run,), read=read).diagnosis


@pytest.mark.parametrize(
    ("controller", "lacks"),
    [
        ({"kind": "ReplicaSet", "spec": {"replicas": 1}, "status": {"replicas": 1}}, False),
        ({"kind": "ReplicaSet", "spec": {"replicas": 2}, "status": {"replicas": 1}}, True),
        ({"kind": "ReplicaSet", "spec": {}, "status": {}}, True),
        ({"kind": "Job", "spec": {"parallelism": 2, "completions": 2}, "status": {"active": 1}}, True),
        ({"kind": "Job", "spec": {"parallelism": 2, "completions": 2}, "status": {"active": 1, "succeeded": 1}}, False),
        ({"kind": "Job", "spec": {}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}, False),
        ({"kind": "DaemonSet", "status": {"currentNumberScheduled": 1, "desiredNumberScheduled": 2}}, True),
        ({"kind": "DaemonSet", "status": {"currentNumberScheduled": 2, "desiredNumberScheduled": 2}}, False),
        ({"kind": "CronJob", "spec": {}}, True),
    ],
)
def test_a_refusal_counts_while_the_controller_lacks_pods(controller: Document, lacks: bool) -> None:
    assert first(refusal(kind=controller["kind"]), controller).cause == ("refused" if lacks else "running")


@pytest.mark.parametrize(("uid", "cause"), [("old", "running"), ("new", "refused"), ("", "refused")])
def test_a_refusal_of_a_controller_of_the_same_name_before_is_over(uid: str, cause: str) -> None:
    controller = {"kind": "ReplicaSet", "spec": {"replicas": 2}, "status": {"replicas": 1}}
    assert first(refusal(uid=uid), controller).cause == cause


@pytest.mark.parametrize(
    ("message", "commands"),
    [
        ('serviceaccount "robot" not found', ["kubectl create serviceaccount robot -n default"]),
        ('serviceaccount "x; touch y #" not found', []),
        ("exceeded quota: team, requested: pods=1", ["kubectl describe quota team -n default"]),
        ("exceeded quota: x;touch${IFS}y|sh, requested: pods=1", []),
        ("exceeded quota: $(reboot), requested: pods=1", []),
    ],
)
def test_only_a_name_goes_from_an_event_into_a_command(message: str, commands: list[str]) -> None:
    found = first(refusal(message), {"kind": "ReplicaSet", "spec": {"replicas": 2}})
    assert [each for each in found.do if "kubectl" in each] == commands


def test_the_newest_job_that_has_not_ended_counts_for_its_cron_job() -> None:
    cron: Document = {"kind": "CronJob", "metadata": {"name": "train", "uid": "c"}, "spec": {}}
    jobs: list[Document] = [
        {
            "kind": "Job",
            "metadata": {"name": f"train-{hour}", "creationTimestamp": f"2026-01-31T{hour}:00:00Z"},
            "spec": {"suspend": hour == 11},
            "status": {"conditions": [{"type": "Complete", "status": "True"}] if hour == 10 else []},
        }
        for hour in (10, 11)
    ]
    found = why(None, node("a"), kind="cronjob", controllers=(cron, *jobs)).diagnosis
    assert found.title == "Job train-11 is suspended, so it makes no pods"
    assert why(None, node("a"), kind="cronjob", controllers=(cron, jobs[0])).diagnosis.cause == "ended"
    held = {**cron, "spec": {"suspend": True}}
    assert why(None, node("a"), kind="cronjob", controllers=(held, jobs[0])).diagnosis.title.startswith(
        "CronJob train is"
    )
