from typing import Any

import pytest

from podberth.topology.index import TopologyIndex
from podberth.topology.need import Need, NodeSelection
from podberth.topology.node import Node


def selects(selection: NodeSelection, labels: dict[str, str], name: str = "n") -> bool:
    """Return whether the index finds the node of that name and those labels."""
    return TopologyIndex.build([Node(name=name, labels=labels)]).nodes(Need(selector=selection)).exist


def required(*terms: Any) -> dict[str, Any]:
    return {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
        }
    }


def test_a_pod_that_chooses_nothing_has_no_selection() -> None:
    specs: list[dict[str, Any]] = [
        {},
        {"nodeSelector": None},
        {"nodeSelector": {}, "affinity": None},
        {"affinity": {"nodeAffinity": {}}},
    ]
    assert [NodeSelection.of(spec) for spec in specs] == [None] * len(specs)


def test_node_selector_and_affinity_are_both_meant() -> None:
    spec = {"nodeSelector": {"a": "1"}, **required({"matchExpressions": [{"key": "b", "operator": "Exists"}]})}
    selection = NodeSelection.of(spec)
    assert selection is not None
    assert selection.keys == {"a", "b"}
    assert selects(selection, {"a": "1", "b": ""})
    assert not selects(selection, {"a": "1"})
    assert not selects(selection, {"b": "1"})


def test_an_empty_list_of_terms_selects_nothing() -> None:
    selection = NodeSelection.of(required())
    assert selection is not None
    assert not selects(selection, {})


def test_a_node_selector_value_that_is_no_string_selects_nothing() -> None:
    selection = NodeSelection.of({"nodeSelector": {"a": 1}})
    assert selection is not None
    assert not selects(selection, {"a": "1"})


def test_a_node_name_selects_the_node_of_that_name_and_the_affinity_holds_as_well() -> None:
    bound = NodeSelection.of({"nodeName": "gpu-7"})
    assert bound is not None
    assert selects(bound, {}, "gpu-7")
    assert not selects(bound, {}, "gpu-8")
    labelled = {"matchExpressions": [{"key": "b", "operator": "Exists"}]}
    both = NodeSelection.of({"nodeName": "gpu-7", **required(labelled)})
    assert both is not None
    assert selects(both, {"b": ""}, "gpu-7")
    assert not selects(both, {}, "gpu-7")
    assert not selects(both, {"b": ""}, "gpu-8")


def test_an_empty_term_selects_nothing_beside_a_node_name() -> None:
    selection = NodeSelection.of({"nodeName": "gpu-7", **required({})})
    assert selection is not None
    assert not selects(selection, {}, "gpu-7")


def test_nodes_can_be_chosen_by_name() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-7"]}]}
    selection = NodeSelection.of(required(term))
    assert selection is not None
    assert selection.reads_name
    assert selects(selection, {}, "gpu-7")
    assert not selects(selection, {}, "gpu-8")
    either = NodeSelection.of(required(term, {"matchExpressions": [{"key": "b", "operator": "Exists"}]}))
    assert either is not None
    assert selects(either, {"b": ""}, "gpu-8")


def test_equal_choices_are_equal_whatever_the_order_of_keys() -> None:
    one = NodeSelection.of({"nodeSelector": {"a": "1", "b": "2"}})
    other = NodeSelection.of({"nodeSelector": {"b": "2", "a": "1"}})
    assert one == other
    assert hash(one) == hash(other)
    assert Need((("nvidia.com/gpu", 1),), 1, 0, one) == Need((("nvidia.com/gpu", 1),), 1, 0, other)
    assert one != NodeSelection.of({"nodeSelector": {"a": "1"}})
    assert one != NodeSelection.of(required())


@pytest.mark.parametrize(
    "spec", [{"nodeSelector": {"a": "1"}, "affinity": []}, required(None, 3), required({"matchExpressions": None})]
)
def test_half_written_affinity_is_read_without_a_fault(spec: dict[str, Any]) -> None:
    selection = NodeSelection.of(spec)
    assert selection is not None
    selects(selection, {"a": "1"})
