"""Groups that have to be in one domain of a level: domains that are too small, and domains that are not free."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from builders import container, gpu_pod, pod_group
from podberth.why.diagnosis import Answer
from podberth.why.picture import Ref
from why_pictures import NO_NODE, Document, node, placed, waiting, why

RACK = "example.com/rack"
SHORT = f"{NO_NODE}1 Insufficient nvidia.com/gpu."
NATIVE = Ref("scheduling.k8s.io", ("v1", "v1beta1", "v1alpha3", "v1alpha2"), "podgroups", "default", "ring")
KAI = Ref("scheduling.run.ai", ("v2alpha2",), "podgroups", "default", "ring")
WORKLOADS = Ref("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "workloads", "default")


def member(name: str, gpus: int = 4, **fields: Any) -> Document:
    return gpu_pod(gpus, name=name, **{"schedulingGroup": {"podGroupName": "ring"}, **fields})


def racks(**nodes: int) -> list[Document]:
    """Return nodes with 8 GPUs: so many in each rack."""
    return [node(f"{rack}-{number}", labels={RACK: rack}) for rack, count in nodes.items() for number in range(count)]


def asked(
    *nodes: Document, least: int, others: Sequence[Document] = (), message: str = SHORT, group: Document | None = None
) -> Answer:
    """Return the answer about a pod with 4 GPUs of a group of so many, whose other pods wait unless they are given."""
    own = waiting(member("m"), message)
    mates = [waiting(member(f"m{number}"), message) for number in range(1, least)]
    read = {NATIVE: group or pod_group("ring", least, RACK)}
    return why(own, *nodes, pods=[own, *mates, *others], read=read)


def test_no_domain_holds_the_group_even_if_it_is_empty() -> None:
    found = asked(*racks(a=2, b=1), node("bare"), least=5)
    assert found.diagnosis.cause == "level"
    assert found.diagnosis.title == f"PodGroup ring starts 5 pods in one {RACK}, and the largest holds 4"
    assert found.diagnosis.evidence == (
        f"{RACK}=a: room for 4 such pods",
        f"{RACK}=b: room for 2 such pods",
    )
    assert found.diagnosis.do[0].endswith("kubectl get podgroups.scheduling.k8s.io ring -n default -o yaml")
    assert found.then == ()


def test_the_nodes_of_small_domains_are_out() -> None:
    full = [placed(gpu_pod(8, name=f"h{number}"), f"a-{number}") for number in range(2)]
    found = asked(*racks(a=2, b=1), least=4, others=full)
    assert found.diagnosis.cause == "busy"
    assert "out, of 3 nodes: 1 in domains too small for its group (b-0)" in found.diagnosis.evidence


def test_without_a_label_there_is_no_domain() -> None:
    found = asked(node("bare"), least=2)
    assert found.diagnosis.title == f"PodGroup ring starts 2 pods in one {RACK}, and no node that fits has this label"
    assert found.diagnosis.do[1] == f"or label nodes: kubectl label node NODE {RACK}=DOMAIN"


def test_of_a_group_that_podberth_made_the_policy_asks() -> None:
    group = pod_group("ring", 5, RACK)
    group["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "podberth"}
    assert "podberth.io/gang-level" in asked(*racks(a=2), least=5, group=group).diagnosis.do[0]


def test_a_domain_that_is_large_enough_may_not_be_free() -> None:
    holders = [placed(gpu_pod(4, name=rack), f"{rack}-0") for rack in "ab"]
    found = asked(*racks(a=2, b=2, c=1), least=4, others=holders, message="pod group is unschedulable")
    assert found.diagnosis.cause == "level room"
    assert found.diagnosis.title == f"at most 3 of 4 pods of PodGroup ring fit into one {RACK} now"
    assert found.diagnosis.evidence[:2] == (f"{RACK}=a: room for 3 such pods", f"{RACK}=b: room for 3 such pods")


def test_the_domain_of_placed_pods_is_the_domain_of_the_others() -> None:
    placed_one = placed(member("first"), "a-0")
    holder = placed(gpu_pod(4, name="h"), "a-0")
    own = waiting(member("m", 8), SHORT)
    read = {NATIVE: pod_group("ring", 2, RACK)}
    found = why(own, *racks(a=1, b=2), pods=[own, placed_one, holder], read=read)
    assert found.diagnosis.cause == "level room"
    assert found.diagnosis.title == (
        f"at most 0 of 1 pod of PodGroup ring fit into {RACK}=a, where its others are, now"
    )


def test_a_group_without_a_level_or_without_a_minimum_has_the_whole_cluster() -> None:
    one_by_one = {"spec": {**pod_group("ring", 2, RACK)["spec"], "schedulingPolicy": {"basic": {}}}}
    for group in (pod_group("ring", 2), one_by_one):
        assert asked(*racks(a=1), least=3, group=group).diagnosis.cause == "scheduler's word"


def test_words_about_another_reason_do_not_confirm_a_level() -> None:
    found = asked(*racks(a=1), least=5, message=f"{NO_NODE}1 node(s) had untolerated taint(s).")
    assert (found.diagnosis.cause, [each.cause for each in found.then]) == ("scheduler's word", [])


def test_the_level_of_kai_is_a_node_label_too() -> None:
    fields: Mapping[str, Any] = {"schedulingGroup": None, "annotations": {"pod-group-name": "ring"}}
    pods = [waiting(member(f"m{number}", schedulerName="kai-scheduler", **fields), "no") for number in range(3)]
    group = {"spec": {"minMember": 3, "topologyConstraint": {"topology": "t", "requiredTopologyLevel": RACK}}}
    beside = placed(gpu_pod(1, name="other", schedulerName="kai-scheduler"), "a-0")
    found = why(pods[0], *racks(a=1), pods=[*pods, beside], read={KAI: group})
    assert found.diagnosis.title == f"PodGroup ring starts 3 pods in one {RACK}, and the largest holds 2"


@pytest.mark.parametrize(
    ("request_", "count", "line"),
    [
        ({"required": RACK}, 3, [f"pod set main starts 3 pods in one {RACK}, and the largest holds 2"]),
        ({"required": RACK}, 2, []),
        ({"required": "example.com/row"}, 3, []),
        ({"preferred": RACK}, 3, []),
        ({"required": RACK}, "3", []),
    ],
)
def test_a_pod_set_of_kueue_that_no_domain_holds_is_evidence(
    request_: Document, count: object, line: list[str]
) -> None:
    own = waiting(
        gpu_pod(
            4,
            labels={"kueue.x-k8s.io/queue-name": "team"},
            annotations={"kueue.x-k8s.io/workload": "w"},
            schedulingGates=[{"name": "kueue.x-k8s.io/admission"}],
        )
    )
    template = {"spec": {"containers": [container(limits={"nvidia.com/gpu": 4})]}}
    pod_set = {"name": "main", "count": count, "topologyRequest": request_, "template": template}
    workload = {"metadata": {"name": "w"}, "spec": {"queueName": "team", "podSets": [pod_set]}}
    found = why(own, *racks(a=1, b=1), read={WORKLOADS: {"items": [workload]}})
    assert found.diagnosis.cause == "queue"
    assert [each for each in found.diagnosis.evidence if "pod set" in each] == line
