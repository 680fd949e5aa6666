"""Shares of GPUs under the plain name of the resource: a pod that asks for several of them gets no larger part."""

from collections.abc import Mapping

import pytest

from builders import gpu_pod
from podberth.why.diagnosis import Diagnosis
from why_pictures import NO_NODE, Document, node, placed, waiting, why

SHORT = f"{NO_NODE}1 Insufficient nvidia.com/gpu."
SLICED = {"nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.replicas": "4"}
ONE_EACH = "ask for 1 nvidia.com/gpu in each container: more shares would be no larger part of a GPU"


def asked(gpus: int, *nodes: Document) -> Diagnosis:
    return why(waiting(gpu_pod(gpus), SHORT), *nodes).diagnosis


@pytest.mark.parametrize(
    ("labels", "shares"),
    [
        (SLICED, "time-sliced shares of 2 GPUs"),
        ({**SLICED, "nvidia.com/gpu.sharing-strategy": "mps"}, "MPS shares of 2 GPUs"),
        ({"nvidia.com/gpu.product": "Tesla-T4-SHARED"}, "shares of GPUs"),
        (
            {
                "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
                "cloud.google.com/gke-max-shared-clients-per-gpu": "8",
            },
            "time-sliced shares of 1 GPU",
        ),
    ],
)
def test_more_shares_than_a_node_has_are_not_to_be_fewer_shares(labels: Mapping[str, str], shares: str) -> None:
    found = asked(9, node("a", labels=labels))
    assert (found.cause, found.do) == ("size", (ONE_EACH,))
    assert f"a: its 8 nvidia.com/gpu are {shares}, which other pods use too" in found.evidence


def test_shares_of_mig_instances_are_named_so() -> None:
    profile = "nvidia.com/mig-1g.10gb"
    labels = {f"{profile}.replicas": "2", f"{profile}.sharing-strategy": "time-slicing"}
    pod = waiting(gpu_pod(15, resource=profile), f"{NO_NODE}1 Insufficient {profile}.")
    found = why(pod, node("a", gpus=0, capacity={profile: "14"}, labels=labels)).diagnosis
    assert "of 7 MIG instances, which other pods use too" in found.evidence[2]


def test_fewer_are_those_of_nodes_with_whole_gpus() -> None:
    whole = {"nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/gpu.replicas": "1"}
    found = asked(9, node("a", labels=SLICED), node("b", gpus=4, labels=whole))
    assert found.do == ("ask for 4 or fewer in each pod, and run more pods instead of larger ones",)
    assert asked(9, node("b", labels=whole)).evidence[2:] == ()


def test_one_of_the_free_shares_is_enough() -> None:
    pods = [placed(gpu_pod(6, name="holder"), "a")]
    found = why(waiting(gpu_pod(4), SHORT), node("a", labels=SLICED), pods=pods).diagnosis
    assert "a: its 8 nvidia.com/gpu are time-sliced shares of 2 GPUs, which other pods use too" in found.evidence
    assert found.do[0] == "ask for 1 in each pod, or wait until a holder ends"
