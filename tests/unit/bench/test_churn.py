"""What happens to simulated machines: Node and document change together, and the same seed is the same history."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from bench.fleet.churn import LAYOUTS, MIG_STATE, Machine, Sight, change, node_patch, show

from podberth.topology.codec import decode_topology, encode_topology
from podberth.topology.manifest import judge, read_node
from podberth.topology.shapes import SHAPES, simulate


def merge_patch(document: Any, patch: Any) -> Any:
    """Apply a merge patch as RFC 7396 has it."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def history(shape: str, seed: int, length: int = 30) -> list[Machine]:
    draw = Random(seed)  # noqa: S311 - a history, no secret
    machines = [Machine("n", shape)]
    for _ in range(length):
        machines.append(change(machines[-1], draw))
    return machines


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_seed_is_the_same_history_and_another_is_another(shape: str) -> None:
    assert history(shape, 1) == history(shape, 1)
    if SHAPES[shape].gpus > 1:
        assert history(shape, 1) != history(shape, 2)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_unchanged_machine_shows_its_shape(shape: str) -> None:
    node, config_map = simulate(shape, "n")
    sight = show(Machine("n", shape))
    assert (sight.labels, sight.allocatable) == (node["metadata"]["labels"], node["status"]["allocatable"])
    assert encode_topology("n", sight.topology) == config_map


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_happens_the_document_decodes_and_no_amount_is_below_nought(shape: str) -> None:
    for machine in history(shape, 3):
        sight = show(machine)
        assert decode_topology(encode_topology("n", sight.topology)) == sight.topology
        assert all(int(amount) >= 0 for name, amount in sight.allocatable.items() if name.startswith("nvidia.com/"))
        lost = {gpu.index for gpu in sight.topology.gpus if gpu.problem}
        assert lost == machine.lost
        if lost and not machine.target:
            assert sight.allocatable != show(Machine("n", machine.shape)).allocatable


def test_while_a_layout_changes_the_node_offers_nothing_and_everybody_says_so() -> None:
    [layouts] = LAYOUTS
    for shape in layouts:
        machine = next(each for each in history(shape, 5) if each.target)
        sight = show(machine)
        manifest = simulate(machine.shape, "n")[0]
        manifest["metadata"]["labels"] = dict(sight.labels)
        manifest["status"] |= {"allocatable": sight.allocatable}
        node = judge(read_node(manifest), sight.topology, stale=False)
        assert (node.transient, dict(node.allocatable), sight.labels[MIG_STATE]) == ("MIG reconfiguring", {}, "pending")


@pytest.mark.parametrize("shape", [shape for layouts in LAYOUTS for shape in layouts])
def test_the_patches_lead_from_each_sight_to_the_next(shape: str) -> None:
    sights = [show(machine) for machine in history(shape, 7)]
    node: Any = {}
    for patch in node_patch(Sight({}, {}, {}, sights[0].topology), sights[0]):
        node = merge_patch(node, patch)
    for before, after in pairwise(sights):
        for patch in node_patch(before, after):
            node = merge_patch(node, patch)
        assert node == {
            "metadata": {"labels": dict(after.labels)},
            "status": {"allocatable": after.allocatable, "capacity": after.capacity},
        }
    assert node_patch(sights[0], sights[0]) == ({}, {})
