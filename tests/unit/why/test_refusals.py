"""Refused pods: which Events count, and what of their text goes into a command."""

from typing import Any

import pytest

from builders import gpu_pod, owned
from podberth.why.diagnosis import Diagnosis
from podberth.why.picture import Ref, pods_in
from why_pictures import Document, forbidden, node, picture, placed, why

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


def without_pods(kind: str, spec: Document, **status: Any) -> Diagnosis:
    own = {"kind": kind, "metadata": {"name": "train"}, "spec": spec, "status": status}
    return why(None, node("a"), kind=kind.lower(), controllers=(own,)).diagnosis


def test_a_job_between_two_tries_has_pods_that_failed() -> None:
    found = without_pods("Job", {"parallelism": 1, "backoffLimit": 6}, failed=2)
    assert (found.cause, found.title) == ("crash", "2 pods of Job train failed, and the next is not made yet")
    assert found.evidence[0] == "the Job ends after 6 retries (spec.backoffLimit)"
    assert found.do == ("kubectl logs job/train -n default",)
    assert without_pods("Job", {"parallelism": 1}).cause == "no pods"


def test_a_job_that_wants_no_pods_at_once_says_so() -> None:
    found = without_pods("Job", {"parallelism": 0, "completions": 4})
    assert (found.cause, found.title) == ("suspended", "Job train wants no pods: spec.parallelism is 0")


def test_no_queue_starts_a_suspended_cron_job() -> None:
    found = without_pods("CronJob", {"suspend": True})
    assert found.do == ("set spec.suspend to false: it makes its next Job at the time of its schedule",)
    assert any("a queue" in each for each in without_pods("Job", {"suspend": True}).do)


def test_a_workload_whose_pods_may_not_be_read_is_not_said_to_have_none() -> None:
    own = {"kind": "Deployment", "metadata": {"name": "train"}, "spec": {"replicas": 2}}
    read = {pods_in("default"): forbidden("list pods in default")}
    found = why(None, node("a"), kind="deployment", controllers=(own,), read=read).diagnosis
    assert found.title == "its pods were not read, so nothing is known of what holds them"


REFUSED = 'pods "train-worker-0" is forbidden: exceeded quota: team, requested: requests.nvidia.com/gpu=8'
OF_OPERATORS = [
    ("PyTorchJob", "FailedCreatePod", f"Error creating: {REFUSED}"),
    ("RayCluster", "FailedToCreateHeadPod", f"Failed to create head Pod default/train-head, {REFUSED}"),
    ("RayCluster", "FailedToCreateWorkerPod", f"Failed to create worker Pod for the cluster default/train, {REFUSED}"),
]
ABOUT_TRAIN = Ref("", ("v1",), "events", "default", fields="involvedObject.name=train")


@pytest.mark.parametrize(("kind", "reason", "message"), OF_OPERATORS)
def test_an_operator_whose_pods_are_refused_is_named(kind: str, reason: str, message: str) -> None:
    read = {ABOUT_TRAIN: {"items": [{**refusal(message, kind), "reason": reason}]}}
    for asked in (kind.lower(), "workload"):
        found = why(None, node("a"), kind=asked, read=read).diagnosis
        assert (found.cause, found.title) == ("refused", "ResourceQuota team is used up")
        assert found.evidence[0] == f"{kind} train cannot create pods; the last try was 20 min ago"
        assert found.do[-1] == "kubectl describe quota team -n default"
    assert why(None, node("a"), kind="tfjob", read=read).diagnosis.cause == "no pods"


@pytest.mark.parametrize(
    ("reason", "uid", "made", "cause"),
    [
        ("FailedCreatePod", "new", "2026-01-31T11:39:00Z", "refused"),
        ("FailedCreatePod", "new", "2026-01-31T11:41:00Z", "running"),
        ("FailedCreatePod", "old", "2026-01-31T11:39:00Z", "running"),
        ("FailedCreateService", "new", "2026-01-31T11:39:00Z", "running"),
    ],
)
def test_an_operators_refusal_counts_until_a_later_pod(reason: str, uid: str, made: str, cause: str) -> None:
    run = placed(owned(gpu_pod(1), "PyTorchJob", name="train", uid="new"), "a")
    run["metadata"]["creationTimestamp"] = made
    event = {**refusal(f"Error creating: {REFUSED}", "PyTorchJob", uid=uid), "reason": reason}
    found = why(
        run, node("a"), kind="pytorchjob", name="train", siblings=(run,), read={ABOUT_TRAIN: {"items": [event]}}
    )
    assert found.diagnosis.cause == cause


def test_a_workload_of_kubernetes_has_its_refusals_in_one_list() -> None:
    job = {"kind": "Job", "metadata": {"name": "train", "uid": "new"}, "spec": {}}
    assert ABOUT_TRAIN not in picture(None, node("a"), kind="job", controllers=(job,)).read
