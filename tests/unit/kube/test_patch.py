"""Drafts share what they do not change, and their patch is made of the touched paths alone."""

from copy import deepcopy
from typing import Any

import pytest

from podberth.errors import UnprovedError
from podberth.kube.patch import Draft, apply, operations
from podberth.kube.paths import pointer

POD: dict[str, Any] = {
    "metadata": {"name": "a", "labels": {"x": "1"}},
    "spec": {"tolerations": [{"key": "a"}], "affinity": None, "containers": [{"name": "c", "resources": {}}]},
}


def test_an_untouched_draft_has_no_patch() -> None:
    assert Draft(POD).patch() == []


def test_a_list_that_grew_is_appended_to() -> None:
    draft = Draft(POD)
    draft.append(("spec", "tolerations"), {"key": "b"})

    assert draft.patch() == [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "b"}}]


def test_absent_parents_are_added_whole_and_null_ones_replaced() -> None:
    draft = Draft(POD)
    draft.set(("metadata", "annotations", "a/b~c"), "v")
    draft.set(("spec", "affinity", "nodeAffinity"), {"x": 1})

    assert draft.patch() == [
        {"op": "add", "path": "/metadata/annotations", "value": {"a/b~c": "v"}},
        {"op": "replace", "path": "/spec/affinity", "value": {"nodeAffinity": {"x": 1}}},
    ]


def test_a_path_below_another_touched_path_is_not_patched_twice() -> None:
    draft = Draft(POD)
    draft.set(("metadata", "labels", "y"), "2")
    draft.set(("metadata", "labels"), {"z": "3"})

    assert draft.patch() == [{"op": "replace", "path": "/metadata/labels", "value": {"z": "3"}}]


def test_a_key_is_renamed_below_a_list_element() -> None:
    pod = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "2"}}}]}}
    limits = ("spec", "containers", 0, "resources", "limits")
    draft = Draft(pod)
    draft.remove((*limits, "nvidia.com/gpu"))
    draft.set((*limits, "nvidia.com/mig-1g.10gb"), "1")

    assert draft.patch() == [
        {"op": "remove", "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu"},
        {"op": "add", "path": "/spec/containers/0/resources/limits/nvidia.com~1mig-1g.10gb", "value": "1"},
    ]


def test_the_original_is_never_changed_and_what_is_not_touched_is_shared() -> None:
    before = repr(POD)
    draft = Draft(POD)
    draft.append(("spec", "tolerations"), {"key": "b"})
    draft.patch()

    assert repr(POD) == before
    assert draft.document["metadata"] is POD["metadata"]
    assert draft.document["spec"]["containers"] is POD["spec"]["containers"]


def test_a_fork_leaves_its_origin_as_it_was() -> None:
    draft = Draft(POD)
    draft.set(("metadata", "labels", "y"), "2")
    fork = draft.fork()
    fork.set(("metadata", "labels", "z"), "3")

    assert draft.document["metadata"]["labels"] == {"x": "1", "y": "2"}
    assert fork.document["metadata"]["labels"] == {"x": "1", "y": "2", "z": "3"}
    assert len(fork.patch()) == 2


def test_what_a_draft_writes_after_a_fork_does_not_show_in_it() -> None:
    draft = Draft(POD)
    draft.set(("metadata", "labels", "y"), "2")
    fork = draft.fork()
    draft.set(("metadata", "labels", "z"), "3")

    assert fork.document["metadata"]["labels"] == {"x": "1", "y": "2"}
    assert len(fork.patch()) == 1


def test_an_edit_that_is_undone_leaves_no_operation() -> None:
    draft = Draft(POD)
    draft.set(("metadata", "labels", "y"), "2")
    draft.remove(("metadata", "labels", "y"))

    assert draft.patch() == []


def test_removing_what_is_absent_touches_nothing() -> None:
    draft = Draft(POD)
    draft.remove(("metadata", "labels", "nope"))

    assert draft.touched == frozenset()


def test_apply_refuses_an_operation_that_does_not_apply() -> None:
    with pytest.raises(UnprovedError, match="does not apply"):
        apply(POD, [{"op": "remove", "path": "/metadata/nope"}])


def test_a_patch_that_does_not_lead_to_the_document_is_never_returned() -> None:
    draft = Draft(POD)
    draft.document = {**POD, "metadata": {"name": "tampered"}}

    with pytest.raises(UnprovedError, match="does not lead"):
        draft.patch()


def test_pointer_escapes_as_rfc_6901_says() -> None:
    assert pointer(("a/b", 0, "c~d")) == "/a~1b/0/c~0d"


def test_only_operations_on_a_whole_document_name_an_index_of_a_list() -> None:
    grown = {**POD, "spec": {**POD["spec"], "tolerations": [{"key": "first"}, {"key": "a"}]}}
    draft = Draft(POD)
    draft.become(grown)

    assert operations(POD, grown) == [{"op": "add", "path": "/spec/tolerations/0", "value": {"key": "first"}}]
    assert draft.patch() == [{"op": "replace", "path": "/spec/tolerations", "value": [{"key": "first"}, {"key": "a"}]}]


@pytest.mark.parametrize(
    ("patch", "wanted"),
    [
        ([("add", "/a/-", 3), ("replace", "/a", [0]), ("add", "/a/-", 1)], {"a": [0, 1]}),
        ([("add", "/a/-", 3), ("remove", "/a"), ("add", "/a", []), ("add", "/a/-", 1)], {"a": [1]}),
        ([("add", "/a/0/x", 1), ("add", "/a/0", {}), ("add", "/a/1/y", 2)], {"a": [{}, {"x": 1, "y": 2}]}),
        ([("add", "/a/0/x", 1), ("remove", "/a/0"), ("add", "/a", [{}]), ("add", "/a/0/z", 3)], {"a": [{"z": 3}]}),
    ],
)
def test_an_operation_is_applied_to_what_earlier_ones_have_put_there(
    patch: list[tuple[Any, ...]], wanted: dict[str, Any]
) -> None:
    document: dict[str, Any] = {"a": [{}]} if "0" in patch[0][1] else {"a": []}
    before = deepcopy(document)
    steps = [dict(zip(("op", "path", "value"), each, strict=False)) for each in patch]
    assert apply(document, steps) == wanted
    assert document == before
