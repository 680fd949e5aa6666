"""What is free in place of an exhausted MIG profile."""

from collections.abc import Mapping
from typing import Any

from builders import gpu_pod
from why_pictures import NO_NODE, Document, node, placed, waiting, why

SMALL, LARGE = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"
SHORT = f"{NO_NODE}1 Insufficient {SMALL}."
RED = {"key": "team", "value": "red", "effect": "NoSchedule"}


def cut(name: str, slices: Mapping[str, str], *, gpus: int = 0, **fields: Any) -> Document:
    return node(
        name, gpus=gpus, capacity={f"nvidia.com/mig-{each}": number for each, number in slices.items()}, **fields
    )


def asked() -> Document:
    return waiting(gpu_pod(1, resource=SMALL), SHORT)


def holder(resource: str, number: int, on: str, name: str = "holder") -> Document:
    return placed(gpu_pod(number, name=name, resource=resource), on)


def test_larger_slices_and_whole_gpus_are_named_the_smallest_first() -> None:
    mixed = cut("a", {"1g.10gb": "2", "2g.20gb": "1", "3g.40gb": "2", "1g.5gb": "4"}, gpus=2)
    found = why(asked(), mixed, pods=[holder(SMALL, 2, "a"), holder(LARGE, 1, "a", "other")])
    assert found.diagnosis.cause == "busy"
    free = "1 nvidia.com/mig-2g.20gb, 1 nvidia.com/mig-3g.40gb and 2 nvidia.com/gpu"
    assert f"free meanwhile, and enough: {free}" in found.diagnosis.evidence
    assert found.diagnosis.do[0] == "ask for nvidia.com/mig-2g.20gb: 1 free"


def test_nodes_that_the_pod_does_not_tolerate_and_smaller_slices_are_none() -> None:
    nodes = (
        cut("a", {"1g.10gb": "1", "1g.5gb": "4"}),
        cut("b", {"1g.10gb": "1", "3g.40gb": "2"}, spec={"taints": [RED]}),
    )
    found = why(asked(), *nodes, pods=[holder(SMALL, 1, "a"), holder(SMALL, 1, "b", "other")])
    assert found.diagnosis.cause == "busy"
    assert not [each for each in found.diagnosis.evidence if each.startswith("free meanwhile")]


def test_whole_gpus_have_no_alternative() -> None:
    mixed = cut("a", {"3g.40gb": "2"}, gpus=1)
    found = why(
        waiting(gpu_pod(1), f"{NO_NODE}1 Insufficient nvidia.com/gpu."), mixed, pods=[holder("nvidia.com/gpu", 1, "a")]
    )
    assert not [each for each in found.diagnosis.evidence if each.startswith("free meanwhile")]
