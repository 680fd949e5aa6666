"""The kinds that are followed if they are served: the facts that are kept of their objects."""

from typing import Any

import pytest

from builders import gpu_pod, job, pod_group
from integration.serving import CapturedLines
from podberth.cluster import workloads
from podberth.cluster.served import resource_of
from podberth.cluster.workloads import Filed, LiveWorkloads
from podberth.devices.claims import ClaimRequest, ComputeDomain, KnownDevices
from podberth.facts.object_kinds import FOLLOWED, DeviceClass, Kind
from podberth.kinds.queues import VOLCANO_QUEUE, Queue
from podberth.telemetry.log import Log
from podberth.topology.pod_groups import PodGroup

JSON = dict[str, Any]
BY_NAME = {kind.name: kind for kind in FOLLOWED}


def test_a_kind_is_watched_in_all_namespaces_and_nobody_needs_it() -> None:
    found = resource_of(BY_NAME["jobs.batch"], "v1")
    assert (found.path, found.of_all_namespaces, found.optional) == ("/apis/batch/v1/jobs", True, True)
    assert not resource_of(BY_NAME["deviceclasses.resource.k8s.io"], "v1").of_all_namespaces


def named(document: JSON, name: str = "x", **metadata: Any) -> JSON:
    return {**document, "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", **metadata}}


CLAIM = {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}]}}}
DONE = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
MADE = {"resource.kubernetes.io/pod-claim-name": "gpu"}


@pytest.mark.parametrize(
    ("kind", "document", "filed"),
    [
        (
            "jobs.batch",
            named(job(gpu_pod(1), indexed=True, parallelism=4)),
            (
                "uid-x",
                named(
                    {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "spec": {
                            "parallelism": 4,
                            "completions": 4,
                            "template": {"metadata": {}, "spec": {"subdomain": "train"}},
                        },
                    }
                ),
            ),
        ),
        ("jobs.batch", named({**job(gpu_pod(1)), **DONE}), None),
        (
            "podgroups.scheduling.k8s.io",
            named(pod_group("x", 3, "rack")),
            (("scheduling.k8s.io", "team", "x"), PodGroup(3)),
        ),
        ("podgroups.scheduling.k8s.io", named({"spec": {}}), (("scheduling.k8s.io", "team", "x"), PodGroup(0))),
        (
            "podgroups.scheduling.k8s.io",
            named({"spec": {"resourceClaims": [{"name": "ring", "resourceClaimTemplateName": "channel"}]}}),
            (("scheduling.k8s.io", "team", "x"), PodGroup(0, frozenset({("ring", "channel")}))),
        ),
        (
            "computedomains.resource.nvidia.com",
            named({"spec": {"channel": {"resourceClaimTemplate": {"name": "channel"}}}}),
            (
                ("team", "channel"),
                ComputeDomain("channel", (ClaimRequest("compute-domain-default-channel.nvidia.com", 1),)),
            ),
        ),
        ("computedomains.resource.nvidia.com", named({"spec": {}}), None),
        (
            "podgroups.scheduling.volcano.sh",
            named({"spec": {"minMember": 1}}),
            (("scheduling.volcano.sh", "team", "x"), PodGroup(0)),
        ),
        (
            "podgroups.scheduling.run.ai",
            named({"spec": {"minMember": 8}}),
            (("scheduling.run.ai", "team", "x"), PodGroup(8)),
        ),
        ("resourceclaims.resource.k8s.io", named(CLAIM), (("team", "x"), (ClaimRequest("gpu", 2, (("r", 2),)),))),
        ("resourceclaims.resource.k8s.io", named(CLAIM, annotations=MADE), None),
        (
            "resourceclaimtemplates.resource.k8s.io",
            named({"spec": CLAIM}),
            (("team", "x"), (ClaimRequest("gpu", 2, (("r", 2),)),)),
        ),
        (
            "localqueues.kueue.x-k8s.io",
            named({"spec": {"clusterQueue": "gpus", "stopPolicy": "HoldAndDrain"}}),
            (("kueue.x-k8s.io", "LocalQueue", "team", "x"), Queue("gpus", "spec.stopPolicy HoldAndDrain")),
        ),
        (
            "clusterqueues.kueue.x-k8s.io",
            {"metadata": {"name": "x"}, "status": {"conditions": [{"type": "Active", "status": "False"}]}},
            (("kueue.x-k8s.io", "ClusterQueue", "", "x"), Queue("", "condition Active is False")),
        ),
        (
            "queues.scheduling.volcano.sh",
            {"metadata": {"name": "x"}, "status": {"state": "Closing"}},
            (("scheduling.volcano.sh", "Queue", "", "x"), Queue("", "status.state Closing")),
        ),
        (
            "queues.scheduling.run.ai",
            {"metadata": {"name": "x"}, "spec": {"parentQueue": "top"}},
            (("scheduling.run.ai", "Queue", "", "x"), Queue("top")),
        ),
        (
            "deviceclasses.resource.k8s.io",
            {"metadata": {"name": "c"}, "spec": {"extendedResourceName": "example.com/g", "config": ["large"]}},
            (
                "c",
                DeviceClass(
                    frozenset({"example.com/g", "deviceclass.resource.kubernetes.io/c"}), {}, hands_out_others=False
                ),
            ),
        ),
    ],
)
def test_only_the_read_fields_of_an_object_are_kept(kind: str, document: JSON, filed: Any) -> None:
    row = BY_NAME[kind]
    place = row.place(document)
    assert place is not None
    fact = row.fact(document)
    keys = (place,) if row.keys is None else row.keys(place, fact) if fact is not None else ()
    assert (None if fact is None else (*keys, fact)) == filed


class Notified:
    """The number of changes."""

    def __init__(self) -> None:
        self.count = 0

    def notify(self) -> None:
        self.count += 1


def sink(kind: Kind) -> tuple[Filed, Notified, CapturedLines]:
    notified, lines = Notified(), CapturedLines()
    return Filed(kind, notified.notify, Log(lines)), notified, lines


def test_only_changes_of_read_fields_count() -> None:
    filed, notified, _ = sink(BY_NAME["jobs.batch"])
    filed.put("team/x", named(job(gpu_pod(1), parallelism=4)))
    first = filed.table()
    filed.put("team/x", named({**job(gpu_pod(8), parallelism=4), "status": {"active": 4}}, resourceVersion="9"))
    assert (notified.count, filed.table()) == (1, first)
    assert filed.table() is first
    filed.put("team/x", named(job(gpu_pod(1), parallelism=5)))
    assert notified.count == 2
    assert first.known["uid-x"]["spec"]["parallelism"] == 4, "what was handed on stays as it was"
    filed.put("team/x", named({**job(gpu_pod(1), parallelism=5), **DONE}))
    assert (notified.count, dict(filed.table().known)) == (3, {})
    filed.drop("team/x")
    assert notified.count == 3


def test_an_object_that_was_deleted_and_made_again_is_another() -> None:
    filed, _, _ = sink(BY_NAME["jobs.batch"])
    filed.put("team/x", named(job(gpu_pod(1)), uid="a"))
    filed.put("team/x", named(job(gpu_pod(1)), uid="b"))
    assert set(filed.table().known) == {"b"}
    filed.forget()
    assert filed.table().known == {}


def test_objects_beyond_the_bound_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_OBJECTS", 2)
    lines = CapturedLines()
    kind = BY_NAME["pytorchjobs.kubeflow.org"]
    live = LiveWorkloads([kind], lambda _: None, Log(lines))
    filed = live.sinks[kind]
    huge = {"spec": {"pytorchReplicaSpecs": {f"r{number}": {"replicas": 1} for number in range(300)}}}
    filed.put("team/huge", named(huge, "huge"))
    for name in "abc":
        filed.put(f"team/{name}", named({"spec": {}}, name))
    assert set(filed.table().known) == {"uid-a", "uid-b"}
    assert filed.left_out_by_reason == {"unreadable": 1, "too many": 1}
    assert [line["problem"] for line in lines.lines] == [
        f"{kind.name} team/huge: got 300 parts in one place, want 256 at most",
        f"{kind.name} team/c: got more than 2 objects; left out",
    ]
    filed.put("team/huge", named({"spec": {}}, "huge"))
    filed.drop("team/a")
    filed.put("team/c", named({"spec": {}}, "c"))
    assert set(filed.table().known) == {"uid-b", "uid-c"}
    assert filed.left_out_by_reason == {"unreadable": 0, "too many": 1}
    filed.forget()
    assert filed.left_out_by_reason == {"unreadable": 0, "too many": 0}


def test_no_queue_is_reported_missing_unless_all_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_OBJECTS", 1)
    kind = BY_NAME["queues.scheduling.volcano.sh"]
    live = LiveWorkloads([kind], lambda _: None, Log(CapturedLines()))
    filed = live.sinks[kind]

    def lacks(name: str) -> bool:
        return live.facts().queues.lacks(VOLCANO_QUEUE, name)

    filed.put("a", {"metadata": {"name": "a", "uid": "u-a"}})
    assert lacks("b")
    filed.put("b", {"metadata": {"name": "b", "uid": "u-b"}})
    assert not lacks("b")
    assert not lacks("c")


def test_the_object_that_has_waited_longest_comes_in_when_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_OBJECTS", 2)
    monkeypatch.setattr(workloads, "MOST_WAITING", 3)
    filed, notified, _ = sink(BY_NAME["jobs.batch"])
    for name in "abcdefg":
        filed.put(f"team/{name}", named(job(gpu_pod(1), parallelism=1), name))
    assert set(filed.table().known) == {"uid-a", "uid-b"}
    filed.put("team/c", named(job(gpu_pod(1), parallelism=5), "c"))  # keeps its place
    filed.drop("team/d")
    filed.put("team/e", named({**job(gpu_pod(1)), **DONE}, "e"))
    before = notified.count
    filed.put("team/a", named({**job(gpu_pod(1)), **DONE}, "a"))
    assert notified.count > before
    assert set(filed.table().known) == {"uid-b", "uid-c"}
    assert filed.table().known["uid-c"]["spec"]["parallelism"] == 5
    assert filed.left_out == filed.beyond == {"team/f", "team/g"}
    filed.drop("team/b")
    # Three waiting places were taken when f and g came, so these are seen when they change.
    assert set(filed.table().known) == {"uid-c"}
    filed.put("team/f", named(job(gpu_pod(1)), "f"))
    assert set(filed.table().known) == {"uid-c", "uid-f"}
    filed.forget()
    assert (dict(filed.table().known), filed.left_out) == ({}, set())


def test_an_object_that_is_made_again_keeps_its_own_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_OBJECTS", 1)
    filed, _, _ = sink(BY_NAME["jobs.batch"])
    filed.put("team/a", named(job(gpu_pod(1)), "a"))
    filed.put("team/b", named(job(gpu_pod(1)), "b"))
    filed.put("team/a", named(job(gpu_pod(1)), "a", uid="again"))
    assert set(filed.table().known) == {"again"}


def test_an_object_that_is_left_out_is_known_by_its_uid_until_it_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_OBJECTS", 1)
    filed, _, _ = sink(BY_NAME["pytorchjobs.kubeflow.org"])
    huge = {"spec": {"pytorchReplicaSpecs": {f"r{number}": {"replicas": 1} for number in range(300)}}}
    filed.put("team/huge", named(huge, "huge"))
    assert filed.leaves_out("uid-huge")
    filed.put("team/huge", named(huge, "huge", uid="again"))
    assert not filed.leaves_out("uid-huge")
    filed.put("team/a", named({"spec": {}}, "a"))
    filed.put("team/b", named({"spec": {}}, "b"))
    # One uid of two is remembered: pods of the other wait in vain.
    assert [filed.leaves_out(uid) for uid in ("again", "uid-a", "uid-b")] == [True, False, False]
    filed.drop("team/huge")
    filed.put("team/b", named({"spec": {}}, "b"))
    assert filed.leaves_out("uid-b")
    filed.drop("team/a")
    assert not filed.leaves_out("uid-b")
    assert set(filed.table().known) == {"uid-b"}


def test_the_same_is_made_of_it_as_of_the_objects_of_a_snapshot() -> None:
    live = LiveWorkloads(FOLLOWED, lambda _: None, Log(CapturedLines()))
    one, other = BY_NAME["podgroups.scheduling.k8s.io"], BY_NAME["podgroups.scheduling.volcano.sh"]
    live.sinks[one].put("team/a", named(pod_group("a", 3, "rack"), "a"))
    live.sinks[other].put("team/b", named({"spec": {"minMember": 4}}, "b"))
    shared = {"spec": {"resourceClaims": [{"name": "ring", "resourceClaimTemplateName": "channel"}]}}
    live.sinks[one].put("team/s", named(shared, "s"))
    live.sinks[BY_NAME["deviceclasses.resource.k8s.io"]].put("c", {"metadata": {"name": "c"}, "spec": {}})
    nics = {"selectors": [{"cel": {"expression": "device.driver == 'nic.example.com'"}}]}
    live.sinks[BY_NAME["deviceclasses.resource.k8s.io"]].put("n", {"metadata": {"name": "n"}, "spec": nics})
    domain = {"spec": {"channel": {"resourceClaimTemplate": {"name": "channel"}}}}
    live.sinks[BY_NAME["computedomains.resource.nvidia.com"]].put("team/d", named(domain, "d"))
    made = live.facts()
    assert made.native_groups == {"team": {"a", "s"}}
    sizes = {("scheduling.k8s.io", "team", "a"): 3, ("scheduling.volcano.sh", "team", "b"): 4}
    assert {key: group.size for key, group in made.pod_groups.items()} == {
        **sizes,
        ("scheduling.k8s.io", "team", "s"): 0,
    }
    assert made.class_resources == {f"deviceclass.resource.kubernetes.io/{name}" for name in "cn"}
    assert made.devices == KnownDevices(
        templates={("team", "channel"): (ClaimRequest("compute-domain-default-channel.nvidia.com", 1),)},
        groups={("team", "s"): frozenset({("ring", "channel")})},
        others=frozenset({"n"}),
    )
    assert made.owners == {}


def test_objects_that_pods_name_are_looked_up_by_name_too() -> None:
    kind = BY_NAME["sparkapplications.sparkoperator.k8s.io"]
    live = LiveWorkloads([kind], lambda _: None, Log(CapturedLines()))
    filed = live.sinks[kind]
    filed.put("team/x", named({"spec": {"executor": {"instances": 4}}}))
    assert set(live.facts().owners) == {"uid-x", "SparkApplication/team/x"}
    filed.put("team/x", named({"spec": {}}, uid="uid-new"))
    assert set(live.facts().owners) == {"uid-new", "SparkApplication/team/x"}
    filed.drop("team/x")
    assert not live.facts().owners
