"""Pods that the kubelet of their node refused: the cause by reason and message, and what to do."""

import pytest

from builders import gpu_pod, owned
from podberth.why.diagnosis import Diagnosis
from why_pictures import Document, node, placed, why

GPU = "nvidia.com/gpu"
UNHEALTHY = f"cannot allocate unhealthy devices {GPU}, which is unexpected"
SHARED = (
    f"Allocate failed due to rpc error: code = Unknown desc = request for '{GPU}: 2' too large: "
    "maximum request size for shared resources is 1, which is unexpected"
)
TAKEN = (
    f"Update plugin resources failed due to requested number of devices unavailable for {GPU}. "
    "Requested: 2, Available: 1, which is unexpected."
)


def refused(reason: str, message: str, own: Document | None = None) -> Diagnosis:
    status = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    return why(placed(own or gpu_pod(2), "gpu-1", **status), node("gpu-1")).diagnosis


@pytest.mark.parametrize(
    ("reason", "message", "cause", "title", "do"),
    [
        (
            "TopologyAffinityError",
            "Resources cannot be allocated with Topology locality",
            "alignment",
            "its Topology Manager finds no NUMA nodes that have free together what the pod asks for",
            "ask for fewer devices and CPUs in each container",
        ),
        (
            "UnexpectedAdmissionError",
            SHARED,
            "rejected",
            f"its {GPU} is shared (time-slicing or MPS), and a container may ask for 1",
            f"ask for 1 {GPU} in each container",
        ),
        (
            "UnexpectedAdmissionError",
            f"Allocate failed due to no healthy devices present; {UNHEALTHY}",
            "rejected",
            f"none of its {GPU} is healthy",
            "see the node's capacity and allocatable",
        ),
        (
            "UnexpectedAdmissionError",
            f"Allocate failed due to previously allocated devices are no longer healthy; {UNHEALTHY}",
            "rejected",
            f"the {GPU} that the pod had before are no longer healthy",
            "see the node's capacity and allocatable",
        ),
        (
            "UnexpectedAdmissionError",
            f"Allocate failed due to cannot allocate unregistered device {GPU}, which is unexpected",
            "rejected",
            f"no device plugin has registered {GPU} since the kubelet started",
            "see whether the device plugin runs there",
        ),
        (
            "UnexpectedAdmissionError",
            TAKEN,
            "rejected",
            f"it has 1 of 2 {GPU} free",
            "see which pods hold them: kubectl get pods -A --field-selector spec.nodeName=gpu-1",
        ),
        (
            "UnexpectedAdmissionError",
            "Allocate failed due to rpc error: code = Unknown desc = broken, which is unexpected.",
            "rejected",
            "rpc error: code = Unknown desc = broken",
            "see the node and the log of its kubelet",
        ),
        (
            f"OutOf{GPU}",
            f"Node didn't have enough resource: {GPU}, requested: 2, used: 8, capacity: 8",
            "rejected",
            f"too little {GPU} is free there",
            "take spec.nodeName out of the template if it has one",
        ),
        (
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
            "rejected",
            "its labels do not meet the pod's nodeSelector or node affinity",
            "compare them",
        ),
    ],
)
def test_a_refusal_of_the_kubelet_says_what_it_lacked(
    reason: str, message: str, cause: str, title: str, do: str
) -> None:
    found = refused(reason, message)
    assert (found.cause, found.title) == (cause, f"the kubelet of node gpu-1 refused it: {title}")
    assert found.evidence == (f"{reason}: Pod was rejected: {message}",)
    assert found.do[0].startswith(do)
    assert not found.waits


def test_a_refused_pod_is_made_again_by_its_controller_or_by_hand() -> None:
    short = f"OutOf{GPU}", ""
    assert refused(*short).do[-1] == "delete the pod and create it again: the kubelet does not try it again"
    assert refused(*short, owned(gpu_pod(2), "Job", name="train")).do[-1].startswith("Job train may make a new pod")


@pytest.mark.parametrize("reason", ["Evicted", "DeadlineExceeded", "OutOf", ""])
def test_a_pod_that_failed_for_another_reason_was_not_refused(reason: str) -> None:
    assert refused(reason, "").cause == "ended"
