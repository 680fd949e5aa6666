"""Queues of KAI and Volcano that have no room for a pod: the schedulers' own messages, with free and with held GPUs."""

import pytest

from builders import gpu_pod
from podberth.why.diagnosis import Answer
from podberth.why.picture import Ref
from why_pictures import Document, node, placed, waiting, why

# KAI-Scheduler pkg/scheduler/api/unschedule_info.go, in the frame of common_info.JobFitErrorsToMessage.
OVER_QUOTA = (
    "NonPreemptibleOverQuota: Non-preemptible workload is over quota. Workload requested 4 GPUs, but {} quota "
    "is 2.5 GPUs, while 2 GPUs are already allocated for non-preemptible pods. "
    "Use a preemptible workload to go over quota.."
)
OVER_LIMIT = (
    "OverLimit: {} quota has reached the allowable limit of GPUs. Limit is 8.5 GPUs, currently 8 GPUs allocated and "
    "workload requested 4 GPUs."
)
# volcano-sh/volcano pkg/scheduler/plugins/capacity/capacity.go, plugins/util/util.go FormatResourceNames.
INSUFFICIENT = "queue resource quota insufficient: insufficient nvidia.com/gpu"
# volcano-sh/volcano pkg/scheduler/api/job_info.go FitError
NOT_READY = "pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable"
GROUP = Ref("scheduling.volcano.sh", ("v1beta1",), "podgroups", "default", "ring")
EVENTS = Ref("", ("v1",), "events", "default", fields="involvedObject.kind=PodGroup,involvedObject.name=ring")


def under_kai(message: str, held: int = 0) -> Answer:
    asked = gpu_pod(
        4, schedulerName="kai-scheduler", labels={"kai.scheduler/queue": "team"}, annotations={"pod-group-name": "ring"}
    )
    group = Ref("scheduling.run.ai", ("v2alpha2",), "podgroups", "default", "ring")
    queues = Ref("scheduling.run.ai", ("v2",), "queues")
    read = {group: {"spec": {"minMember": 1}}, queues: {"items": [{"metadata": {"name": "team"}}]}}
    return why(waiting(asked, message), node("a"), pods=[placed(gpu_pod(held, name="held"), "a")], read=read)


@pytest.mark.parametrize("prefix", ["", "Node-Pool 'default': "])
@pytest.mark.parametrize("queue", ["team", "team.a", "My Team"])
@pytest.mark.parametrize("held", [0, 8])
def test_a_queue_of_kai_that_is_over_its_quota_holds_the_pod(prefix: str, queue: str, held: int) -> None:
    found = under_kai(prefix + OVER_QUOTA.format(queue), held)
    assert found.diagnosis.cause == "queue"
    assert found.diagnosis.title == (
        f"KAI Queue {queue} has not admitted it: its quota has no room for this non-preemptible workload"
    )
    quota = f"{queue} quota is 2.5 GPUs, while 2 GPUs are already allocated for non-preemptible pods"
    assert found.diagnosis.evidence == (f"Workload requested 4 GPUs, but {quota}",)
    assert "make the workload preemptible" in found.diagnosis.do[0]
    assert [each.cause for each in found.then] == (["busy"] if held else [])


@pytest.mark.parametrize("prefix", ["", "Node-Pool 'default': "])
@pytest.mark.parametrize("queue", ["team", "team.a", "My Team"])
@pytest.mark.parametrize("held", [0, 8])
def test_a_queue_of_kai_at_its_limit_holds_the_pod(prefix: str, queue: str, held: int) -> None:
    found = under_kai(prefix + OVER_LIMIT.format(queue), held)
    assert found.diagnosis.cause == "queue"
    assert found.diagnosis.title == f"KAI Queue {queue} has not admitted it: its limit has no room for this workload"
    assert found.diagnosis.evidence == ("Limit is 8.5 GPUs, currently 8 GPUs allocated and workload requested 4 GPUs",)
    assert "spec.resources" in found.diagnosis.do[1]


def under_volcano(phase: str = "Pending", message: str = INSUFFICIENT, uid: str = "new", queue: str = "team") -> Answer:
    asked = gpu_pod(4, schedulerName="volcano", annotations={"scheduling.k8s.io/group-name": "ring"})
    group: Document = {
        "metadata": {"name": "ring", "uid": "new"},
        "spec": {"minMember": 1, "queue": queue},
        "status": {"phase": phase},
    }
    events = [
        {"involvedObject": {"kind": "PodGroup", "name": "ring", "uid": uid}, "message": each}
        for each in ("1/1 tasks in gang unschedulable: " + NOT_READY, message)
    ]
    read = {GROUP: group, EVENTS: {"items": events}}
    return why(waiting(asked, NOT_READY), node("a"), pods=[placed(gpu_pod(8, name="held"), "a")], read=read)


def test_a_queue_of_volcano_without_room_holds_the_pod() -> None:
    found = under_volcano()
    assert found.diagnosis.cause == "queue"
    assert found.diagnosis.title == "Volcano Queue team has not admitted it: its quota has no room for this group"
    assert found.diagnosis.evidence == ("PodGroup ring: Pending", "insufficient nvidia.com/gpu")
    assert "kubectl get queues.scheduling.volcano.sh" in found.diagnosis.do[0]
    assert [each.cause for each in found.then] == ["busy"]


def test_a_queue_of_volcano_without_a_name_or_a_resource_has_no_more_to_say() -> None:
    found = under_volcano(message="queue resource quota insufficient", queue="").diagnosis
    assert found.title.startswith("the Volcano Queue has not admitted it")
    assert found.evidence == ("PodGroup ring: Pending",)


@pytest.mark.parametrize(
    ("phase", "message", "uid"),
    [
        ("Inqueue", INSUFFICIENT, "new"),
        ("Pending", "resource in cluster is overused: overused nvidia.com/gpu", "new"),
        ("Pending", INSUFFICIENT, "old"),
    ],
)
def test_a_group_that_volcano_has_admitted_or_holds_otherwise_is_not_held_by_its_queue(
    phase: str, message: str, uid: str
) -> None:
    assert under_volcano(phase, message, uid).diagnosis.cause == "busy"
