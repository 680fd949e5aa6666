"""What holds a pod that has a node: which Events count, and init containers that fail."""

from typing import Any

import pytest

from builders import container, gpu_pod
from podberth.why.diagnosis import Diagnosis
from podberth.why.picture import Ref
from why_pictures import Document, node, placed, why

EVENTS = Ref("", ("v1",), "events", "default", fields="involvedObject.kind=Pod,involvedObject.name=pod")
MOUNT = {"type": "Warning", "reason": "FailedMount", "message": "no such secret"}
PULLS = {"type": "Normal", "reason": "Pulling", "message": "x"}


def at(event: Document, minute: int, field: str = "lastTimestamp", **more: Any) -> Document:
    return {**event, field: f"2026-01-31T11:{minute:02}:00{'.123456Z' if field == 'eventTime' else 'Z'}", **more}


def first(*events: Document) -> Diagnosis:
    own = placed(gpu_pod(1), "a", phase="Pending")
    own["metadata"]["uid"] = "new"
    return why(own, node("a"), read={EVENTS: {"items": list(events)}}).diagnosis


@pytest.mark.parametrize(
    "events",
    [
        (at({"type": "Warning", "reason": "FailedScheduling", "message": "x"}, 0, "eventTime"),),
        (at({"type": "Warning", "reason": "DNSConfigForming", "message": "x"}, 59),),
        (at(MOUNT, 50), at(PULLS, 51)),
        (at(MOUNT, 50, "eventTime"), at(PULLS, 51)),
        (at(MOUNT, 50, involvedObject={"uid": "old"}),),
    ],
)
def test_a_warning_that_is_old_or_harmless_is_no_cause(events: tuple[Document, ...]) -> None:
    assert first(*events).title == "it is placed on node a, and its containers are being created"


@pytest.mark.parametrize(
    "events",
    [
        (at(PULLS, 50), at(MOUNT, 51, involvedObject={"uid": "new"})),
        (at(PULLS, 50), at(MOUNT, 51, "eventTime")),
        (at(PULLS, 50), at(MOUNT, 10, series={"lastObservedTime": "2026-01-31T11:52:00.000001Z"})),
    ],
)
def test_a_warning_behind_the_last_progress_is_the_cause(events: tuple[Document, ...]) -> None:
    assert first(*events).title.endswith("cannot start it: FailedMount")


def test_an_init_container_that_has_failed_is_a_crash_before_the_kubelet_waits() -> None:
    state = {"terminated": {"exitCode": 1, "reason": "Error"}}
    status = {"name": "early", "state": state, "restartCount": 3}
    own = placed(gpu_pod(1, init=[container("early")]), "a", phase="Pending", initContainerStatuses=[status])
    found = why(own, node("a")).diagnosis
    assert (found.cause, found.evidence[0]) == ("crash", "the last time it ended with code 1 Error")


@pytest.mark.parametrize(
    ("ends", "running", "since", "holds"),
    [
        ("12:40", True, "20 min", "its containers still run: the kubelet kills them in 40 min, after 60 min of grace"),
        ("11:50", True, "70 min", "the kubelet has not ended it yet, 10 min after its grace period of 60 min"),
        ("11:50", False, "70 min", "finalizers hold it: batch.kubernetes.io/job-tracking"),
    ],
)
def test_a_pod_is_being_deleted_since_its_grace_period_began(ends: str, running: bool, since: str, holds: str) -> None:
    state = {"running": {}} if running else {"terminated": {"exitCode": 0}}
    own = placed(gpu_pod(1), "a", containerStatuses=[{"name": "main", "state": state}])
    own["metadata"] |= {
        "deletionTimestamp": f"2026-01-31T{ends}:00Z",
        "deletionGracePeriodSeconds": 3600,
        "finalizers": ["batch.kubernetes.io/job-tracking"],
    }
    found = why(own, node("a")).diagnosis
    assert (found.title, found.evidence) == (f"it is being deleted, since {since}", (holds,))


def test_nobody_is_sent_to_the_logs_of_a_container_that_never_started() -> None:
    waits = {"reason": "CreateContainerError", "message": "no such hook"}
    never = {"name": "main", "state": {"waiting": waits}, "restartCount": 0}
    found = why(placed(gpu_pod(1), "a", phase="Pending", containerStatuses=[never]), node("a")).diagnosis
    assert (found.cause, found.title) == ("crash", "container main cannot be started: CreateContainerError")
    assert found.do == ("kubectl describe pod pod -n default",)
    ran = {**never, "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}, "restartCount": 1}
    found = why(placed(gpu_pod(1), "a", phase="Pending", containerStatuses=[ran]), node("a")).diagnosis
    assert found.title == "container main does not stay up: CreateContainerError, restarted 1 time"
    assert found.do == ("kubectl logs pod -n default -c main --previous",)
