"""The agents that no longer renew their Leases, while a requirement of podberth's keeps a pod off all nodes."""

import json
from typing import Any

import pytest

from builders import gpu_pod
from podberth.wellknown import APPLIED_ANNOTATION
from podberth.why.agents import LEASES
from podberth.why.causes import wanted
from why_pictures import NO_NODE, Document, node, picture, waiting, why

UNSELECTED = f"{NO_NODE}1 node(s) didn't match Pod's node affinity/selector."
RECORD = {APPLIED_ANNOTATION: json.dumps({"near": {"nodeSelector": {"pool": "moon"}}})}


def asked(**fields: Any) -> Document:
    chosen: Document = {"nodeSelector": {"pool": "moon"}, "annotations": RECORD, **fields}
    return waiting(gpu_pod(1, **chosen), UNSELECTED)


def lease(name: str, renewed: str) -> Document:
    return {"metadata": {"name": name}, "spec": {"renewTime": renewed, "leaseDurationSeconds": 90}}


def lines(*leases: Document, nodes: str = "ab") -> list[str]:
    found = why(asked(), *(node(name) for name in nodes), read={LEASES: {"items": list(leases)}})
    assert found.diagnosis.cause == "selector"
    return [each for each in found.diagnosis.evidence if "topology" in each]


def test_a_stale_topology_is_evidence_with_its_node_and_age() -> None:
    silent, fresh = lease("a", "2026-01-31T11:34:00Z"), lease("b", "2026-01-31T11:59:30Z")
    assert lines(silent, fresh) == ["the topology of a is stale: its agent has been silent for 26 min"]
    assert lines(fresh) == []


def test_a_lease_without_a_time_is_stale_and_that_of_another_node_is_not_named() -> None:
    assert lines(lease("a", ""), lease("gone", "2026-01-31T11:00:00Z")) == [
        "the topology of a is stale: its Lease has no time"
    ]


def test_of_many_silent_agents_three_are_named_the_longest_silent_first() -> None:
    found = lines(*(lease(each, f"2026-01-31T11:3{minute}:00Z") for minute, each in enumerate("dcba")), nodes="abcd")
    assert [each.split()[3] for each in found[:3]] == ["d", "c", "b"]
    assert found[3] == "the topology of 4 nodes that could hold it is stale"


@pytest.mark.parametrize(
    ("pod", "labels", "is_read"),
    [
        (asked(), {}, True),
        (asked(annotations={}), {}, False),  # the requirement is the user's
        (asked(), {"pool": "moon"}, False),  # a node meets it
        (asked(nodeSelector={"pool": "moon", "own": "x"}), {}, False),  # the user's requirement excludes the node, too
    ],
)
def test_leases_are_read_only_if_podberths_requirement_keeps_the_pod_off_all_nodes(
    pod: Document, labels: dict[str, str], is_read: bool
) -> None:
    assert (LEASES in picture(pod, node("a", labels=labels)).read) is is_read


def test_a_placed_pod_needs_no_lease() -> None:
    pod = asked()
    pod["spec"]["nodeName"] = "a"
    assert LEASES not in wanted(picture(pod, node("a")))
