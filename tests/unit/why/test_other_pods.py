"""What an answer needs of other pods is read of them, whatever field it is in."""

import pytest

from builders import container, gpu_container, gpu_pod, pod, sidecar
from podberth.kube.amounts import requested
from podberth.why.machines import machines
from why_pictures import NO_NODE, node, picture, placed, waiting, why

SHORT = f"{NO_NODE}1 Insufficient nvidia.com/gpu."


def test_all_that_a_pod_reserves_is_read() -> None:
    held = pod(
        gpu_container("main", 2),
        container("more", requests={"cpu": "500m"}),
        init=[sidecar(limits={"cpu": "1"}), container("first", requests={"cpu": "3"})],
        overhead={"cpu": "100m"},
        resources={"requests": {"memory": "4Gi"}},
    )
    other = placed(held, "a")
    [machine] = machines(picture(waiting(gpu_pod(1), SHORT), node("a"), pods=[other]))
    [(_, asks)] = machine.asks
    assert asks == requested(other)
    assert asks.keys() == {"cpu", "memory", "nvidia.com/gpu", "pods"}


def test_the_priority_of_a_holder_and_how_long_it_holds_are_read() -> None:
    other = placed(gpu_pod(8, name="h", priority=-5), "a", startTime=None)
    evidence = why(waiting(gpu_pod(1), SHORT), node("a"), pods=[other]).diagnosis.evidence
    assert "a: 0 of 8 nvidia.com/gpu free; held by default/h (8, 31 min)" in evidence
    assert "preemption: 1 pod of lower priority on a holds enough" in evidence


def test_a_pod_with_gates_shows_no_scheduler() -> None:
    gated = waiting(pod(name="other", schedulerName="volcano"), "gates", reason="SchedulingGated")
    found = why(waiting(pod(schedulerName="volcano")), node("a"), pods=[gated])
    assert found.diagnosis.title == "no scheduler named volcano is seen in this cluster"


@pytest.mark.parametrize("space", ["default", "elsewhere"])
def test_the_namespaces_of_anti_affinity_are_read(space: str) -> None:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    term = {"topologyKey": "rack", "labelSelector": {}, "namespaces": [space]}
    there = placed(pod(name="other", affinity={"podAntiAffinity": {key: [term]}}), "a")
    there["metadata"]["namespace"] = "third"
    asked = waiting(pod(), f"{NO_NODE}1 node(s) didn't match pod anti-affinity rules.")
    found = why(asked, node("a", labels={"rack": "r"}), pods=[there])
    assert found.diagnosis.cause == ("neighbours" if space == "default" else "scheduler's word")


def test_host_ports_of_different_protocols_and_anti_affinity_to_other_labels_keep_nobody_away() -> None:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = [
        {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "other"}}},
        {"topologyKey": "rack", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
    ]
    port = {"containerPort": 80, "hostPort": 80}
    there = placed(
        pod(
            container(ports=[{**port, "protocol": "UDP"}]),
            name="other",
            affinity={"podAntiAffinity": {key: terms}},
        ),
        "a",
    )
    asked = waiting(pod(container(ports=[{**port, "protocol": "TCP"}])), f"{NO_NODE}1 node(s) had no free ports.")
    found = why(asked, node("a", labels={"rack": "r"}), pods=[there])
    assert found.diagnosis.cause == "scheduler's word"
