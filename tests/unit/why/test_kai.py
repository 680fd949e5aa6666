"""KAI-Scheduler's messages about nodes confirm a cause, or leave it out."""

import pytest

from builders import container, gpu_pod, pod
from podberth.why.diagnosis import Answer
from why_pictures import node, placed, waiting, why

NO_NODE_OF_KAI = "no nodes with enough resources were found: "
"""The start of KAI's message about nodes (KAI-Scheduler pkg/scheduler/api/common_info/pod_errors.go)."""


def asked_of_kai(message: str) -> Answer:
    """Return the answer about a pod that KAI leaves waiting; all GPUs of the only node that it selects are held."""
    asked = gpu_pod(4, nodeSelector={"pool": "x"}, schedulerName="kai-scheduler")
    nodes = node("a", labels={"pool": "x"}), node("b")
    return why(waiting(asked, message), *nodes, pods=[placed(gpu_pod(8, name="holder"), "a")])


@pytest.mark.parametrize(
    ("reasons", "cause"),
    [
        ("2 node(s) didn't match Pod's node affinity/selector.", "scheduler's word"),
        (
            "1 node(s) didn't have enough resources: GPUs. \n1 node(s) didn't match Pod's node affinity/selector.",
            "busy",
        ),
        ("2 node(s) didn't have enough resources: CPU cores.", "scheduler's word"),
        ("2 node(s) didn't have enough resources: memory.", "scheduler's word"),
    ],
)
def test_kai_is_not_contradicted(reasons: str, cause: str) -> None:
    found = asked_of_kai(NO_NODE_OF_KAI + reasons)
    assert found.diagnosis.cause == cause
    gang = "PodSchedulingErrors: Resources were found for 0 pods while 2 are required for gang scheduling. "
    of_group = f"{gang}Additional pods cannot be scheduled due to: {NO_NODE_OF_KAI}{reasons}."
    assert asked_of_kai(of_group).diagnosis.cause == cause


def test_kai_without_a_reason_confirms_any_cause() -> None:
    assert asked_of_kai(NO_NODE_OF_KAI.removesuffix(": ")).diagnosis.cause == "busy"


def test_kai_has_its_own_words_for_slices_cpu_and_pod_slots() -> None:
    mig = "nvidia.com/mig-1g.10gb"
    sliced = node("m", gpus=0, capacity={mig: "1"})
    asked = waiting(gpu_pod(2, resource=mig), f"{NO_NODE_OF_KAI}1 node(s) didn't have enough of mig profile: {mig}.")
    assert why(asked, sliced).diagnosis.cause == "size"
    asked = waiting(
        pod(container(limits={"cpu": 999})), f"{NO_NODE_OF_KAI}1 node(s) didn't have enough resources: CPU cores."
    )
    assert why(asked, node("a")).diagnosis.cause == "size"
    full = [placed(pod(name="other"), "a")]
    asked = waiting(pod(), f"{NO_NODE_OF_KAI}1 node(s) pod number exceeded.")
    assert why(asked, node("a", capacity={"pods": "1"}), pods=full).diagnosis.cause == "busy"
