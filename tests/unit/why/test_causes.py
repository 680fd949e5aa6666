"""The causes, one by one, on small pictures; and what is the first of several."""

import json
from typing import Any

import pytest

from builders import container, gpu_pod, pod, sidecar
from e2e.dra import GPU_DRIVER, device_class, resource_slice
from podberth.wellknown import APPLIED_ANNOTATION
from podberth.why.diagnosis import Answer
from podberth.why.picture import Ref
from why_pictures import NO_NODE, NOW, Document, forbidden, node, picture, placed, waiting, why

GPU = "nvidia.com/gpu"
SHORT = f"{NO_NODE}1 Insufficient {GPU}."
TAINTED = f"{NO_NODE}1 node(s) had untolerated taint(s)."
RED = {"key": "team", "value": "red", "effect": "NoSchedule"}


def holder(gpus: int, on: str, name: str = "holder", **fields: Any) -> Document:
    return placed(gpu_pod(gpus, name=name, **fields), on)


# ---- the nodes -------------------------------------------------------------------------------------------------------


def test_the_first_cause_is_the_one_that_the_scheduler_names() -> None:
    found = why(waiting(gpu_pod(16), TAINTED), node("a", spec={"taints": [RED]}))
    assert (found.diagnosis.cause, [each.cause for each in found.then]) == ("taint", ["size"])


def test_without_words_for_any_cause_the_answer_is_the_schedulers() -> None:
    message = f"{NO_NODE}1 node(s) didn't satisfy plugin Example."
    found = why(waiting(gpu_pod(16), message), node("a"))
    assert (found.diagnosis.cause, found.then) == ("scheduler's word", ())
    assert message in found.diagnosis.evidence[0]


def test_a_node_that_fits_now_is_no_cause() -> None:
    assert why(waiting(gpu_pod(1), SHORT), node("a")).diagnosis.cause == "scheduler's word"


def test_another_schedulers_words_confirm_nothing() -> None:
    found = why(waiting(gpu_pod(16, schedulerName="other"), "not today"), node("a"), pods=[holder(1, "a")])
    assert found.diagnosis.cause == "size"


@pytest.mark.parametrize("resource", ["ephemeral-storage", "hugepages-2Mi"])
def test_a_pod_for_gpus_may_be_too_large_in_another_resource(resource: str) -> None:
    asked = waiting(pod(container(limits={GPU: 1, resource: "9Ti"})), f"{NO_NODE}1 Insufficient {resource}.")
    assert why(asked, node("a", capacity={resource: "1Gi"})).diagnosis.cause == "size"


@pytest.mark.parametrize("key", ["kueue.x-k8s.io/queue-name", "kai.scheduler/queue"])
def test_a_queue_does_not_hold_a_pod_whose_scheduler_names_another_reason(key: str) -> None:
    found = why(waiting(gpu_pod(4, labels={key: "x"}), SHORT), node("a"), pods=[holder(8, "a")])
    assert (found.diagnosis.cause, found.then) == ("busy", ())
    said = f"{NO_NODE}1 queue x has no quota."
    assert why(waiting(gpu_pod(4, labels={key: "x"}), said), node("a")).diagnosis.cause == "queue"


def test_a_word_in_the_key_of_a_taint_confirms_nothing() -> None:
    infra = {"key": "nodegroup", "value": "infra", "effect": "NoSchedule"}
    asked = gpu_pod(4, labels={"scheduling.x-k8s.io/pod-group": "g"})
    message = f"{NO_NODE}1 node(s) had untolerated taint {{nodegroup: infra}}."
    assert why(waiting(asked, message), node("a", spec={"taints": [infra]})).diagnosis.cause == "taint"


def test_the_schedulers_that_call_nodes_unavailable_are_not_contradicted() -> None:
    message = "0/1 nodes are unavailable: 1 node(s) had untolerated taint {team: red}."
    asked = waiting(gpu_pod(16, schedulerName="volcano"), message)
    assert why(asked, node("a", spec={"taints": [RED]})).diagnosis.cause == "taint"


def test_slices_are_offered_in_place_of_whole_gpus_and_profiles_in_place_of_another() -> None:
    sliced = node("m", gpus=0, capacity={"nvidia.com/mig-1g.10gb": "7"})
    assert "ask for a slice instead: nvidia.com/mig-1g.10gb" in why(waiting(gpu_pod(1), SHORT), sliced).diagnosis.do
    message = f"{NO_NODE}1 Insufficient nvidia.com/mig-3g.40gb."
    asked = waiting(gpu_pod(1, resource="nvidia.com/mig-3g.40gb"), message)
    assert why(asked, sliced).diagnosis.do[0] == "ask for a profile that is there: nvidia.com/mig-1g.10gb"


@pytest.mark.parametrize(
    ("strategy", "share"), [("time-slicing", "time-sliced share"), ("mps", "MPS share"), ("", "share")]
)
def test_shares_are_offered_in_place_of_whole_gpus_and_named_as_shares(strategy: str, share: str) -> None:
    labels = {"nvidia.com/gpu.sharing-strategy": strategy} if strategy else {}
    found = why(waiting(gpu_pod(2), SHORT), node("s", gpus=0, labels=labels, capacity={f"{GPU}.shared": "4"})).diagnosis
    assert found.evidence[-1] == f"1 {GPU}.shared is a part of a device that other pods use too: {share}"
    assert found.do[0] == f"ask for 1 {GPU}.shared instead, if a share is enough"


def test_a_node_that_offers_none_now_has_a_failed_plugin() -> None:
    broken = node("a", gpus=0, capacity={GPU: "0"})
    assert "have failed" in why(waiting(gpu_pod(1), SHORT), broken).diagnosis.evidence[-1]


def test_a_resource_that_a_device_class_serves_is_not_missing() -> None:
    classes = Ref("resource.k8s.io", ("v1", "v1beta2", "v1beta1"), "deviceclasses")
    served = {classes: {"items": [{"spec": {"extendedResourceName": "example.com/gpu"}}]}}
    asked = waiting(gpu_pod(1, resource="example.com/gpu"), f"{NO_NODE}1 cannot allocate all claims.")
    assert why(asked, node("a"), read=served).diagnosis.cause == "scheduler's word"


def test_resources_that_no_node_has_together_are_named_together() -> None:
    both = pod(container(limits={GPU: 1, "example.com/nic": 1}))
    found = why(waiting(both, SHORT), node("a"), node("n", gpus=0, capacity={"example.com/nic": "1"}))
    assert found.diagnosis.title == "no node offers example.com/nic and nvidia.com/gpu together"
    assert found.then == ()


def test_cpu_beside_the_gpus_is_what_is_short() -> None:
    busy = placed(pod(container(requests={"cpu": "190"}), name="cpu"), "a")
    asked = waiting(pod(container(limits={GPU: 1, "cpu": 8})), f"{NO_NODE}1 Insufficient cpu.")
    assert why(asked, node("a"), pods=[busy]).diagnosis.title == "no node has 8 cpu free: the most is 2 on a"


def test_a_pod_without_devices_is_too_large_for_every_node() -> None:
    asked = waiting(pod(container(requests={"cpu": "999"})), f"{NO_NODE}1 Insufficient cpu.")
    assert why(asked, node("a")).diagnosis.title == "no node has 999 cpu: the largest has 192"


def test_pod_slots_are_counted() -> None:
    one = node("a", capacity={"pods": "1"})
    asked = waiting(gpu_pod(1), f"{NO_NODE}1 Too many pods.")
    found = why(asked, one, pods=[placed(pod(name="other"), "a")])
    assert found.diagnosis.title == "the only pod slot that it could use is held"
    empty = why(waiting(pod(), f"{NO_NODE}1 Too many pods."), one, pods=[placed(pod(name="other"), "a")])
    assert empty.diagnosis.evidence[0].startswith("a: 0 of 1 pods free")


def test_who_holds_the_devices_is_named_with_the_time() -> None:
    found = why(waiting(gpu_pod(4), SHORT), node("a"), pods=[holder(6, "a")])
    assert "a: 2 of 8 nvidia.com/gpu free; held by default/holder (6, 30 min)" in found.diagnosis.evidence


def test_what_is_free_in_parts_is_not_busy() -> None:
    pods = [holder(6, "a", "one"), holder(6, "b", "two")]
    assert why(waiting(gpu_pod(4), SHORT), node("a"), node("b"), pods=pods).diagnosis.cause == "fragmented"
    assert why(waiting(gpu_pod(5), SHORT), node("a"), node("b"), pods=pods).diagnosis.cause == "busy"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"priority": 10}, "preemption: 1 pod of lower priority on a holds enough"),
        ({"priority": 10, "preemptionPolicy": "Never"}, "preemption does not help: its PriorityClass never preempts"),
        ({}, "preemption does not help: its priority is 0, the lowest of a holder 0"),
    ],
)
def test_it_is_said_whether_preemption_could_help(fields: dict[str, Any], said: str) -> None:
    found = why(waiting(gpu_pod(4, **fields), SHORT), node("a"), pods=[holder(8, "a")])
    assert said in found.diagnosis.evidence


def test_preemption_that_falls_short_is_not_explained_by_the_lowest_priority() -> None:
    pods = [holder(2, "a", "low"), placed(gpu_pod(6, name="high", priority=100), "a")]
    found = why(waiting(gpu_pod(4, priority=10), SHORT), node("a"), pods=pods)
    said = "preemption does not help: its priority is 10, and pods of lower priority hold too little on each node"
    assert said in found.diagnosis.evidence


def test_a_holder_that_is_being_deleted_is_waited_for_and_its_owner_is_not_asked() -> None:
    going = placed(gpu_pod(8, name="old"), "a")
    going["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:10Z"
    found = why(waiting(gpu_pod(4), SHORT), node("a"), node("b"), pods=[going, holder(8, "b")]).diagnosis
    assert "a: 0 of 8 nvidia.com/gpu free; held by default/old (8, 30 min, being deleted)" in found.evidence
    assert found.do[0] == "wait until default/old, on a, is gone: it is being deleted"
    assert not any("owner of default/old" in each for each in found.do)


def test_a_pod_that_never_preempts_is_offered_no_priority_class() -> None:
    for policy, offered in (("Never", False), ("PreemptLowerPriority", True)):
        asked = waiting(gpu_pod(4, preemptionPolicy=policy), SHORT)
        found = why(asked, node("a"), pods=[holder(8, "a")]).diagnosis
        assert any("PriorityClass" in each for each in found.do) is offered


def test_room_on_a_tainted_node_is_named() -> None:
    nodes = node("a"), node("b", spec={"taints": [RED]})
    found = why(waiting(gpu_pod(4), SHORT), *nodes, pods=[holder(8, "a")])
    assert "enough is free on b, which it cannot use: tainted team=red:NoSchedule" in found.diagnosis.evidence


def test_a_node_that_is_not_ready_counts_once_though_it_has_a_taint_of_each_effect() -> None:
    down = [{"key": "node.kubernetes.io/not-ready", "effect": each} for each in ("NoSchedule", "NoExecute")]
    found = why(waiting(gpu_pod(1), TAINTED), node("b", spec={"taints": down})).diagnosis
    assert found.title == "the only node that could hold it is not ready"
    assert found.evidence == ("not ready: 1 node (b)",)


def test_a_toleration_is_written_out_and_a_state_of_a_node_is_not_tolerated() -> None:
    down = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    found = why(waiting(gpu_pod(1), TAINTED), node("a", spec={"taints": [RED]}), node("b", spec={"taints": [down]}))
    assert found.diagnosis.title == "all 2 nodes that could hold it are tainted (team=red:NoSchedule) or not ready"
    assert found.diagnosis.do == (
        "if it may run there, add to spec.tolerations: {key: team, operator: Equal, value: red, effect: NoSchedule}",
        "see why the node is not ready: kubectl describe node b",
    )


def test_the_labels_that_nodes_have_stand_beside_those_that_are_wanted() -> None:
    asked = gpu_pod(1, nodeSelector={"gpu": "b200"})
    found = why(
        waiting(asked, f"{NO_NODE}1 node(s) didn't match Pod's node affinity/selector."),
        node("a", labels={"gpu": "h100"}),
    )
    assert found.diagnosis.evidence[0] == "gpu=b200: 0 of 1 node that could hold it; they have h100 (1 node)"


def test_labels_that_a_policy_wrote_into_the_node_selector_are_the_policys() -> None:
    record = json.dumps({"near": {"nodeSelector": {"pool": "moon"}}})
    message = f"{NO_NODE}1 node(s) didn't match Pod's node affinity/selector."
    ours, users = (
        why(waiting(gpu_pod(1, nodeSelector={"pool": "moon"}, annotations=known), message), node("a"))
        for known in ({APPLIED_ANNOTATION: record}, {})
    )
    assert ours.diagnosis.title == "podberth's policy near requires nodes of which none fits"
    assert users.diagnosis.title == "no node matches nodeSelector pool=moon"


# ---- before and behind the nodes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (
            'admission webhook "validate.podberth.io" denied the request: no',
            "admission webhook validate.podberth.io refuses",
        ),
        ('failed calling webhook "x.example.com": refused', "webhook x.example.com cannot be called"),
        ("exceeded quota: team, requested: pods=1, used: pods=1", "ResourceQuota team is used up"),
        ("maximum cpu usage per Container is 1, but limit is 2", "a LimitRange of the namespace refuses its pods"),
        ("no PriorityClass with name urgent was found", "PriorityClass urgent does not exist"),
        ('serviceaccount "robot" not found', "ServiceAccount robot does not exist"),
        ('violates PodSecurity "restricted:latest": x', "Pod Security of the namespace refuses"),
        (
            "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no",
            "ValidatingAdmissionPolicy a refuses its pods: no",
        ),
        ("something else", "the API server refuses its pods"),
    ],
)
def test_a_refusal_is_read_from_the_event_of_the_controller(message: str, title: str) -> None:
    event = {
        "involvedObject": {"kind": "Job", "name": "train"},
        "message": message,
        "lastTimestamp": "2026-01-31T11:59:00Z",
    }
    events = {Ref("", ("v1",), "events", "default", fields="reason=FailedCreate"): {"items": [event]}}
    found = why(None, node("a"), kind="job", read=events)
    assert found.diagnosis.title.startswith(title)
    assert found.diagnosis.evidence[0] == "Job train cannot create pods; the last try was 60 s ago"


@pytest.mark.parametrize(
    ("controller", "title"),
    [
        (
            {"kind": "Job", "spec": {}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}},
            "Job train has ended: Complete",
        ),
        ({"kind": "Job", "spec": {"suspend": True}}, "Job train is suspended, so it makes no pods"),
        ({"kind": "Deployment", "spec": {"replicas": 0}}, "Deployment train wants no pods: spec.replicas is 0"),
        ({"kind": "Job", "spec": {}}, "it has no pods, and no refusal of one is recorded"),
    ],
)
def test_a_workload_without_pods_says_why_it_has_none(controller: Document, title: str) -> None:
    own = {**controller, "metadata": {"name": "train"}}
    assert why(None, node("a"), kind="job", controllers=(own,)).diagnosis.title == title


def test_kueues_own_words_are_the_cause_of_a_suspended_job() -> None:
    own = {"kind": "Job", "metadata": {"name": "train", "uid": "u1", "labels": {"kueue.x-k8s.io/queue-name": "team"}}}
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient quota"}
    workload = {
        "metadata": {"name": "job-train", "ownerReferences": [{"uid": "u1"}]},
        "spec": {"queueName": "team"},
        "status": {"conditions": [condition]},
    }
    ref = Ref("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "workloads", "default")
    suspended = {**own, "spec": {"suspend": True}}
    found = why(None, node("a"), kind="job", controllers=(suspended,), read={ref: {"items": [workload]}})
    assert found.diagnosis.title == "Kueue has not admitted it to queue team: insufficient quota"
    assert found.diagnosis.evidence == ("Workload job-train: QuotaReserved is False, Pending",)


def test_a_refusal_before_the_newest_pod_is_over() -> None:
    event = {
        "involvedObject": {"kind": "Job", "name": "train"},
        "message": "x",
        "lastTimestamp": "2026-01-31T11:00:00Z",
    }
    events = {Ref("", ("v1",), "events", "default", fields="reason=FailedCreate"): {"items": [event]}}
    own = holder(1, "a")
    found = why(own, node("a"), pods=[own], kind="job", siblings=(own,), read=events)
    assert found.diagnosis.cause == "running"


@pytest.mark.parametrize(
    ("waits", "cause"),
    [("ErrImagePull", "image"), ("CrashLoopBackOff", "crash"), ("CreateContainerConfigError", "configuration")],
)
def test_a_placed_pod_is_not_pending(waits: str, cause: str) -> None:
    status = {"name": "main", "image": "i", "restartCount": 2, "state": {"waiting": {"reason": waits, "message": "m"}}}
    found = why(placed(gpu_pod(1), "a", phase="Pending", containerStatuses=[status]), node("a"))
    assert (found.diagnosis.cause, found.diagnosis.waits) == (cause, False)


def test_a_running_init_container_is_named_and_a_sidecar_is_not() -> None:
    state = {"running": {"startedAt": "2026-01-31T11:50:00Z"}}
    status = {"phase": "Pending", "initContainerStatuses": [{"name": "early", "state": state}]}
    early = placed(gpu_pod(1, init=[container("early")]), "a", **status)
    assert why(early, node("a")).diagnosis.title == "init container early still runs, since 10 min"
    beside = placed(gpu_pod(1, init=[sidecar("early")]), "a", **status)
    assert why(beside, node("a")).diagnosis.cause == "starting"


def test_what_the_kubelet_cannot_start_is_said_by_its_event() -> None:
    own = placed(gpu_pod(1), "a", phase="Pending")
    events = Ref("", ("v1",), "events", "default", fields="involvedObject.kind=Pod,involvedObject.name=pod")
    warning = {"type": "Warning", "reason": "FailedMount", "message": "no such secret", "lastTimestamp": "2026"}
    found = why(own, node("a"), read={events: {"items": [warning]}})
    assert found.diagnosis.title == "it is placed on node a, which cannot start it: FailedMount"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"status": {"phase": "Succeeded"}}, "ended"),
        ({"metadata": {"name": "pod", "deletionTimestamp": "2026-01-31T11:59:00Z"}}, "deleted"),
    ],
)
def test_a_pod_that_is_over_does_not_wait(change: Document, cause: str) -> None:
    assert why({**waiting(gpu_pod(1), SHORT), **change}, node("a")).diagnosis.cause == cause


def test_a_pod_without_a_condition_is_new_before_its_scheduler_is_blamed() -> None:
    young = waiting(gpu_pod(1))
    young["metadata"]["creationTimestamp"] = NOW.isoformat()
    others = [holder(1, "a")]
    assert why(young, node("a"), pods=others).diagnosis.cause == "new"
    assert why(waiting(gpu_pod(1)), node("a"), pods=others).diagnosis.title.startswith(
        "scheduler default-scheduler has not"
    )


def test_a_scheduler_that_no_pod_shows_is_blamed_only_after_a_while() -> None:
    young, old = waiting(gpu_pod(1, schedulerName="other")), waiting(gpu_pod(1, schedulerName="other"))
    young["metadata"]["creationTimestamp"] = NOW.isoformat()
    assert why(young, node("a")).diagnosis.cause == "new"
    assert why(old, node("a")).diagnosis.title == "no scheduler named other is seen in this cluster"


def test_it_is_said_that_a_scheduler_looked_at_other_pods_only_if_one_shows_it() -> None:
    bare, beside = (why(waiting(gpu_pod(1)), node("a"), pods=each) for each in ([], [holder(1, "a")]))
    assert bare.diagnosis.evidence == ("the pod has no condition PodScheduled",)
    assert beside.diagnosis.evidence[0].endswith("though that scheduler has looked at other pods")


def test_the_devices_of_an_allocated_claim_keep_a_pod_on_their_node() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    claim = {"status": {"allocation": {"nodeSelector": {"nodeSelectorTerms": terms}}}}
    ref = Ref("resource.k8s.io", ("v1", "v1beta2", "v1beta1"), "resourceclaims", "default", "mine")
    asked = gpu_pod(1, resourceClaims=[{"name": "x", "resourceClaimName": "mine"}])
    message = f"{NO_NODE}1 resourceclaim not available on the node."
    found = why(waiting(asked, message), node("a"), read={ref: claim})
    assert found.diagnosis.cause == "claim elsewhere"


def test_who_holds_the_devices_that_a_claim_lacks_is_named() -> None:
    found = without_devices({"items": [held("b", "gpu-0", "train"), held("b", "gpu-1", "train")]})
    assert found.diagnosis.cause == "claim unallocated"
    assert found.diagnosis.evidence[-1] == "b: 0 of 2 gpu.nvidia.com free; held by team-a/train (2)"
    assert found.diagnosis.do[-1] == "ask the owner of team-a/train, on b, or of the others"


def test_a_claim_for_all_devices_of_a_class_is_not_said_to_ask_for_one() -> None:
    spec = asking()
    spec["devices"]["requests"][0]["exactly"]["allocationMode"] = "All"
    known = {claims_ref("deviceclasses", name="gpu.nvidia.com"): device_class("gpu.nvidia.com", GPU_DRIVER)}
    found = why(waiting(claiming(), UNALLOCATED), node("b"), read={MINE: {"spec": spec}, **known}).diagnosis
    assert found.evidence[0] == "it asks for all of DeviceClass gpu.nvidia.com"


def test_claims_that_may_not_be_listed_leave_out_who_holds_the_devices() -> None:
    found = without_devices(forbidden(CLAIMS.right))
    assert found.diagnosis.evidence[-1] == "drivers publish 2 devices of gpu.nvidia.com, free and held"
    assert len(found.diagnosis.do) == 1
    assert [each.want for each in found.unread] == ["list resourceclaims.resource.k8s.io"]


def test_claims_are_listed_only_for_a_pod_whose_claim_for_accelerators_has_no_devices() -> None:
    held_up = waiting(claiming(), f"{NO_NODE}1 Insufficient cpu.")
    nics = device_class("gpu.nvidia.com", "rdma.example.com")
    nics["metadata"]["name"] = "nics"
    own = {"spec": asking("nics")}
    assert CLAIMS in picture(waiting(claiming(), UNALLOCATED), node("b"), read={MINE: {"spec": asking()}}).read
    assert CLAIMS not in picture(held_up, node("b"), read={MINE: {"spec": asking()}}).read
    read = {MINE: own, claims_ref("deviceclasses", name="nics"): nics}
    assert CLAIMS not in picture(waiting(claiming(), UNALLOCATED), node("b"), read=read).read


UNALLOCATED = f"{NO_NODE}1 cannot allocate all claims."


def claims_ref(plural: str, namespace: str = "", name: str = "") -> Ref:
    return Ref("resource.k8s.io", ("v1", "v1beta2", "v1beta1"), plural, namespace, name)


CLAIMS, MINE = claims_ref("resourceclaims"), claims_ref("resourceclaims", "default", "mine")


def claiming() -> Document:
    return pod(name="it", resourceClaims=[{"name": "x", "resourceClaimName": "mine"}])


def asking(name: str = "gpu.nvidia.com") -> Document:
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": name}}]}}


def held(on: str, device: str, by: str) -> Document:
    result = {"driver": GPU_DRIVER, "pool": on, "device": device}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [{"resource": "pods", "name": by}]}
    return {"metadata": {"namespace": "team-a", "name": f"claim-{device}"}, "status": status}


def without_devices(claims: Any) -> Answer:
    read = {
        MINE: {"spec": asking()},
        claims_ref("deviceclasses", name="gpu.nvidia.com"): device_class("gpu.nvidia.com", GPU_DRIVER),
        claims_ref("resourceslices"): {"items": [resource_slice("b", GPU_DRIVER, "pci0000:00", "pci0000:40")]},
        CLAIMS: claims,
    }
    return why(waiting(claiming(), UNALLOCATED), node("b"), read=read)


def test_a_host_port_that_is_taken_keeps_a_pod_off() -> None:
    port = container(ports=[{"hostPort": 80}])
    found = why(
        waiting(pod(port), f"{NO_NODE}1 node(s) didn't have free ports for the requested pod ports."),
        node("a"),
        pods=[placed(pod(port, name="other"), "a")],
    )
    assert found.diagnosis.title == "its host port 80 leaves none of 1 node with room"


def test_the_pods_of_others_may_want_to_be_alone() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "me"}}, "topologyKey": "kubernetes.io/hostname"}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    message = f"{NO_NODE}1 node(s) didn't satisfy existing pods anti-affinity rules."
    others = [placed(pod(name="alone", affinity=alone), "a")]
    found = why(waiting(pod(labels={"app": "me"}), message), node("a"), pods=others)
    assert found.diagnosis.title == "anti-affinity of default/alone keeps it off the nodes that have room"


def test_a_spread_that_a_node_still_meets_is_no_cause() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "s"}},
    }
    own = pod(labels={"app": "s"}, topologySpreadConstraints=[spread])
    nodes = node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, spec={"taints": [RED]})
    message = f"{NO_NODE}1 node(s) didn't match pod topology spread constraints, 1 node(s) had untolerated taint(s)."
    there = [placed(pod(name="one", labels={"app": "s"}), "a")]
    assert why(waiting(own, message), *nodes).diagnosis.cause == "scheduler's word"
    assert why(waiting(own, message), *nodes, pods=there).diagnosis.cause == "neighbours"


def test_a_cluster_without_nodes_is_the_cause() -> None:
    message = "no nodes available to schedule pods"
    assert why(waiting(gpu_pod(1), message)).diagnosis.title == "the cluster has no node"


def test_what_may_not_be_read_is_said_and_nothing_is_invented() -> None:
    lacking = why(waiting(gpu_pod(16), SHORT), read={Ref("", ("v1",), "x"): forbidden("list x")})
    assert [each.want for each in lacking.unread] == ["list x"]
