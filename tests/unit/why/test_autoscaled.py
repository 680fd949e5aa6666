"""What an autoscaler says about a waiting pod: shown beside the scheduler's message, and never in its place."""

from typing import Any

import pytest

from builders import gpu_pod
from podberth.why.diagnosis import Answer
from podberth.why.picture import Ref
from why_pictures import NO_NODE, Document, node, placed, waiting, why

EVENTS = Ref("", ("v1",), "events", "default", fields="involvedObject.kind=Pod,involvedObject.name=pod")
BUSY = f"{NO_NODE}1 Insufficient nvidia.com/gpu."
LIMIT = "pod didn't trigger scale-up: 1 max node group size reached"


def event(source: str, reason: str, message: str, minute: int = 50, **fields: Any) -> Document:
    seen = f"2026-01-31T11:{minute:02}:00Z"
    return {"source": {"component": source}, "reason": reason, "message": message, "lastTimestamp": seen, **fields}


def asked(*events: Document, message: str = BUSY) -> Answer:
    full = node("a", gpus=8)
    holder = placed(gpu_pod(8, name="holder"), "a")
    return why(waiting(gpu_pod(8), message), full, pods=[holder], read={EVENTS: {"items": list(events)}})


def test_an_autoscaler_at_its_limit_is_what_comes_next() -> None:
    found = asked(event("cluster-autoscaler", "NotTriggerScaleUp", LIMIT))
    assert found.diagnosis.cause == "busy"
    assert found.then[-1].title == "cluster-autoscaler adds no node for it: 1 max node group size reached"
    assert found.as_json()["autoscaler"] == {
        "name": "cluster-autoscaler",
        "reason": "NotTriggerScaleUp",
        "message": LIMIT,
    }


@pytest.mark.parametrize(
    ("source", "reason", "message"),
    [
        ("cluster-autoscaler", "TriggeredScaleUp", "pod triggered scale-up: [{gpus 0->1 (max: 4)}]"),
        ("karpenter", "Nominated", "Pod should schedule on: nodeclaim/gpu-x7k2p"),
    ],
)
def test_a_node_that_is_on_its_way_holds_nobody(source: str, reason: str, message: str) -> None:
    found = asked(event("cluster-autoscaler", "NotTriggerScaleUp", LIMIT, 40), event(source, reason, message))
    assert (found.autoscaler.scheduler, found.autoscaler.message) == (source, message)
    assert "autoscaler" not in {each.cause for each in found.then}


def test_karpenter_says_what_it_lacks() -> None:
    lacks = "incompatible with nodepool gpu, no instance type satisfied resources"
    own = event("", "FailedScheduling", f"Failed to schedule pod, {lacks}", reportingComponent="karpenter")
    found = asked(own)
    assert found.then[-1].title == f"karpenter adds no node for it: {lacks}"


@pytest.mark.parametrize(
    "other",
    [
        event("default-scheduler", "FailedScheduling", BUSY),
        event("cluster-autoscaler", "NotTriggerScaleUp", LIMIT, involvedObject={"uid": "an earlier pod"}),
    ],
)
def test_events_of_others_say_nothing(other: Document) -> None:
    own = waiting(gpu_pod(8), BUSY)
    own["metadata"]["uid"] = "now"
    found = why(own, node("a"), pods=[placed(gpu_pod(8, name="holder"), "a")], read={EVENTS: {"items": [other]}})
    assert found.autoscaler.message == ""
    assert "autoscaler" not in {each.cause for each in found.then}


def test_an_autoscaler_is_never_first_beside_the_schedulers_reason() -> None:
    odd = asked(event("cluster-autoscaler", "NotTriggerScaleUp", LIMIT), message=f"{NO_NODE}1 node(s) were odd.")
    assert odd.diagnosis.cause == "scheduler's word"
    assert odd.autoscaler.message == LIMIT
