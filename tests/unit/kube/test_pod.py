"""Reading a Pod: absent, null and empty fields are one."""

from typing import Any

import pytest

from builders import container, owned, pod, sidecar
from podberth.kube import pod as read

JSON = dict[str, Any]


@pytest.mark.parametrize("document", [{}, {"metadata": None, "spec": None}, {"metadata": {}, "spec": {}}])
def test_absent_null_and_empty_are_the_same(document: JSON) -> None:
    """tests/real-manifests.md 23: nulls."""
    assert read.metadata(document) == {}
    assert read.labels(document) == {}
    assert read.annotations(document) == {}
    assert read.spec(document) == {}
    assert read.containers(document) == ()
    assert read.controller(document) is None


def test_null_lists_and_maps_read_as_empty() -> None:
    document: JSON = {
        "metadata": {"labels": None, "annotations": None, "ownerReferences": None},
        "spec": {"containers": None, "initContainers": None, "ephemeralContainers": None},
    }
    assert read.labels(document) == {}
    assert read.annotations(document) == {}
    assert read.containers(document) == ()
    assert read.controller(document) is None


def test_containers_come_with_their_place_and_kind() -> None:
    document = pod(container("a"), container("b"), init=[container("i"), sidecar("s")])
    document["spec"]["ephemeralContainers"] = [container("e")]
    assert [(each.name, each.path, each.kind) for each in read.containers(document)] == [
        ("a", ("spec", "containers", 0), "container"),
        ("b", ("spec", "containers", 1), "container"),
        ("i", ("spec", "initContainers", 0), "init"),
        ("s", ("spec", "initContainers", 1), "sidecar"),
        ("e", ("spec", "ephemeralContainers", 0), "ephemeral"),
    ]


def test_restart_policy_makes_a_sidecar_among_init_containers_only() -> None:
    document = pod(container("a", restartPolicy="Always"), init=[container("i", restartPolicy="OnFailure")])
    assert [each.kind for each in read.containers(document)] == ["container", "init"]


def test_a_container_is_the_pods_own_part() -> None:
    document = pod(container("a"))
    assert read.containers(document)[0].body is document["spec"]["containers"][0]


def test_the_controller_is_the_owner_that_says_so() -> None:
    document = owned(pod(), "Job", uid="u")
    document["metadata"]["ownerReferences"].insert(0, {"kind": "Other", "controller": False})
    found = read.controller(document)
    assert found == read.OwnerReference("batch/v1", "Job", "work", "u")
    assert found.group == "batch"


def test_an_owner_of_the_core_group_has_an_empty_group() -> None:
    found = read.controller(owned(pod(), "Node", api_version="v1"))
    assert found is not None
    assert found.group == ""
