"""Groups and queues: which of several Workloads and Jobs is the one that counts, and room for a group."""

from builders import owned, pod
from podberth.why.picture import Ref
from why_pictures import NO_NODE, Document, node, placed, waiting, why

WORKLOADS = Ref("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "workloads", "default")
GROUP = Ref("scheduling.x-k8s.io", ("v1alpha1",), "podgroups", "default", "few")
MEMBER = {"scheduling.x-k8s.io/pod-group": "few"}


def test_a_node_that_says_nothing_yet_has_no_room_for_a_group() -> None:
    bare = {"metadata": {"name": "new"}, "spec": {}, "status": {}}
    members = [waiting(pod(name=f"m{number}", labels=MEMBER), "x") for number in range(3)]
    asked = waiting(pod(name="pod", labels=MEMBER), f"{NO_NODE}2 Too many pods.")
    members.append(placed(pod(name="other"), "a"))
    nodes = node("a", capacity={"pods": "1"}), bare
    found = why(asked, *nodes, pods=members, read={GROUP: {"spec": {"minMember": 3}}})
    assert found.diagnosis.cause == "busy"


def _queued(name: str, uid: str, owner: str = "") -> Document:
    owners = [{"uid": owner}] if owner else []
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    return {"kind": "Job", "metadata": {"name": name, "uid": uid, "labels": labels, "ownerReferences": owners}}


def _workload(uid: str, minute: int, *conditions: str, status: str = "True") -> Document:
    return {
        "metadata": {
            "name": f"job-{uid}",
            "ownerReferences": [{"uid": uid}],
            "creationTimestamp": f"2026-01-31T11:{minute}:00Z",
        },
        "spec": {"queueName": "team"},
        "status": {"conditions": [{"type": each, "status": status} for each in conditions]},
    }


def test_the_newest_workload_that_has_not_ended_is_the_one_of_a_cron_job() -> None:
    cron = {"kind": "CronJob", "metadata": {"name": "train", "uid": "c"}, "spec": {}}
    jobs = _queued("train-1", "u1", "c"), _queued("train-2", "u2", "c")
    found = [
        _workload("u1", 10, "QuotaReserved", "Admitted", "Finished"),
        _workload("u2", 20, "QuotaReserved", status="False"),
    ]
    for items in (found, found[::-1]):
        answered = why(None, node("a"), kind="cronjob", controllers=(cron, *jobs), read={WORKLOADS: {"items": items}})
        assert answered.diagnosis.evidence == ("Workload job-u2: QuotaReserved is False",)


def test_the_workload_of_another_job_of_the_same_owner_is_not_the_pods() -> None:
    jobs = _queued("train-1", "u1", "c"), _queued("train-2", "u2", "c")
    own = owned(waiting(pod(labels={"kueue.x-k8s.io/queue-name": "team"}), "x"), "Job", name="train-1", uid="u1")
    items = [_workload("u2", 20, "QuotaReserved", status="False"), _workload("u1", 10, "QuotaReserved", "Admitted")]
    read = {WORKLOADS: {"items": items}}
    found = why(own, node("a"), kind="cronjob", controllers=jobs, siblings=(own,), read=read)
    assert "Kueue has not admitted" not in found.diagnosis.title
