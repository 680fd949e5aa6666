import pytest

from podberth.topology.codec import decode_topology
from podberth.topology.free_links import bucket, free_linked_gpus
from podberth.topology.node import NodeTopology
from podberth.topology.shapes import simulate
from podberth.topology.usage import Allocation, Holder


def topology_of(shape: str) -> NodeTopology:
    return decode_topology(simulate(shape, "n")[1])


def held(*gpus: int, mig_uuid: str = "", unmatched: int = 0) -> Allocation:
    who = {"namespace": "a", "pod": "p", "container": "c", "resource": "nvidia.com/gpu"}
    return Allocation(holders={Holder(gpu=gpu, mig_uuid=mig_uuid, **who): 1 for gpu in gpus}, unmatched=unmatched)


@pytest.mark.parametrize(
    ("count", "said"), [(0, 0), (1, 1), (3, 3), (7, 7), (8, 8), (9, 8), (15, 8), (16, 16), (72, 64)]
)
def test_the_label_says_the_number_up_to_8_and_never_more_than_is_free(count: int, said: int) -> None:
    assert bucket(count) == said


@pytest.mark.parametrize(
    ("shape", "gpus", "free"),
    [
        ("hgx-h100-8", (), 8),
        ("hgx-h100-8", (0, 5, 7), 5),
        ("hgx-h100-8", tuple(range(8)), 0),
        ("a100-pcie-4", (), 2),  # two pairs
        ("a100-pcie-4", (0, 1), 2),
        ("a100-pcie-4", (0, 2), 1),  # one of each pair is left, or both of one: the shape's pairs decide
        ("l40s-8", (), 1),  # no links
        ("l40s-8", tuple(range(7)), 1),
        ("l40s-8", tuple(range(8)), 0),
    ],
)
def test_the_free_gpus_of_the_best_domain_count(shape: str, gpus: tuple[int, ...], free: int) -> None:
    assert free_linked_gpus(topology_of(shape), held(*gpus)) == free


def test_an_unknown_device_may_be_any_of_the_gpus() -> None:
    assert free_linked_gpus(topology_of("hgx-h100-8"), held(unmatched=1)) is None


def test_unknown_links_are_not_none() -> None:
    assert free_linked_gpus(NodeTopology(), held()) is None


def test_a_gpu_that_is_cut_or_partly_held_is_not_free() -> None:
    assert free_linked_gpus(topology_of("hgx-h100-8"), held(3, mig_uuid="MIG-1")) == 7
