"""Groups and queues: which of several Workloads and Jobs is the one that counts, and room for a group."""

from builders import pod
from podberth.why.picture import Ref
from why_pictures import NO_NODE, node, placed, waiting, why

GROUP = Ref("scheduling.x-k8s.io", ("v1alpha1",), "podgroups", "default", "few")
MEMBER = {"scheduling.x-k8s.io/pod-group": "few"}


def test_a_node_that_says_nothing_yet_has_no_room_for_a_group() -> None:
    bare = {"metadata": {"name": "new"}, "spec": {}, "status": {}}
    members = [waiting(pod(name=f"m{number}", labels=MEMBER), "x") for number in range(3)]
    asked = waiting(pod(name="pod", labels=MEMBER), f"{NO_NODE}2 Too many pods.")
    members.append(placed(pod(name="other"), "a"))
    nodes = node("a", capacity={"pods": "1"}), bare
    found = why(asked, *nodes, pods=members, read={GROUP: {"spec": {"minMember": 3}}})
    assert found.finding.cause == "busy"
