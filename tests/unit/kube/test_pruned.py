"""What is left of a document at some paths."""

from typing import Any

import pytest

from podberth.kube.paths import ELEMENT
from podberth.kube.pruned import pruned, tree_of

POD: dict[str, Any] = {
    "metadata": {"labels": {"app": "x", "team": "y"}, "managedFields": [{"manager": "m"}]},
    "spec": {"containers": [{"name": "a", "image": "i", "env": [1]}, {"image": None}], "hostIPC": False},
}


@pytest.mark.parametrize(
    ("paths", "left"),
    [
        ([], {}),
        ([("spec", "hostIPC")], {"spec": {"hostIPC": False}}),
        ([("spec", "nodeName")], {"spec": {}}),
        ([("status", "phase")], {}),
        ([("metadata", "labels", "app")], {"metadata": {"labels": {"app": "x"}}}),
        ([("metadata", "labels", "app"), ("metadata", "labels")], {"metadata": {"labels": {"app": "x", "team": "y"}}}),
        ([("spec", "containers", ELEMENT, "image")], {"spec": {"containers": [{"image": "i"}, {"image": None}]}}),
        ([("spec", "containers", ELEMENT, "name")], {"spec": {"containers": [{"name": "a"}, {}]}}),
        ([("spec", "containers")], {"spec": {"containers": POD["spec"]["containers"]}}),
    ],
)
def test_what_is_at_or_below_the_paths_is_left(paths: list[tuple[str, ...]], left: dict[str, Any]) -> None:
    assert pruned(POD, tree_of(paths)) == left


@pytest.mark.parametrize("value", [None, "text", 3, ["a"], [[{"app": 1}]]])
def test_a_value_of_another_type_than_the_path_expects_is_whole(value: Any) -> None:
    assert pruned({"metadata": value}, tree_of([("metadata", "labels")])) == {"metadata": value}


def test_a_map_where_elements_are_read_is_whole() -> None:
    assert pruned({"labels": {"a": {"b": 1, "c": 2}}}, tree_of([("labels", ELEMENT, "b")])) == {
        "labels": {"a": {"b": 1, "c": 2}}
    }
