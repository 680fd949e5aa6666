"""Nodes with unhealthy devices: what is said about them, and when a repair would be enough."""

from builders import gpu_pod
from podberth.why.diagnosis import Diagnosis
from why_pictures import NO_NODE, Document, node, placed, waiting, why

GPU = "nvidia.com/gpu"
REPAIR = f"have its unhealthy {GPU} repaired, which would be enough: kubectl describe node a"


def found(gpus: int, *nodes: Document, held: int = 0) -> Diagnosis:
    pods = [placed(gpu_pod(held, name="holder"), "a")] if held else []
    return why(waiting(gpu_pod(gpus), f"{NO_NODE}1 Insufficient {GPU}."), *nodes, pods=pods).diagnosis


def test_unhealthy_devices_that_would_be_enough_are_to_be_repaired() -> None:
    ill = node("a", allocatable={GPU: "6"})
    for gpus, held, cause in ((8, 0, "size"), (4, 4, "busy")):
        made = found(gpus, ill, held=held)
        assert (made.cause, REPAIR in made.do) == (cause, True)
        assert f"a: 2 of its 8 {GPU} are unhealthy" in made.evidence


def test_unhealthy_devices_that_would_not_be_enough_are_evidence_alone() -> None:
    made = found(16, node("a", allocatable={GPU: "7"}))
    assert f"a: 1 of its 8 {GPU} is unhealthy" in made.evidence
    assert REPAIR not in made.do


def test_healthy_nodes_have_no_such_line() -> None:
    assert not any("unhealthy" in each for each in found(16, node("a")).evidence)


def test_a_node_that_is_not_ready_is_named_so() -> None:
    down = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    message = f"{NO_NODE}1 node(s) had untolerated taint(s)."
    made = why(waiting(gpu_pod(1), message), node("a", spec={"taints": [down]})).diagnosis
    assert made.title == "the only node that could hold it is not ready"
