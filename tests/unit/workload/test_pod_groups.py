"""How many start together, by the PodGroups of the systems that have them."""

from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod, pod
from podberth.workload.gangs import Gang, gang_of
from podberth.workload.memberships import GROUPS

JSON = dict[str, Any]


def gang(document: JSON, **known: Any) -> Gang:
    return gang_of(document, "default", {}, **known)


GROUPED = [
    ("scheduling.k8s.io", gpu_pod(8, schedulingGroup={"podGroupName": "ring"})),
    ("scheduling.volcano.sh", gpu_pod(8, annotations={"scheduling.k8s.io/group-name": "ring"})),
    ("scheduling.x-k8s.io", gpu_pod(8, labels={"scheduling.x-k8s.io/pod-group": "ring"})),
    ("scheduling.sigs.k8s.io", gpu_pod(8, labels={"scheduling.x-k8s.io/pod-group": "ring"})),
    ("scheduling.sigs.k8s.io", gpu_pod(8, annotations={"gang.scheduling.koordinator.sh/name": "ring"})),
    ("scheduling.sigs.k8s.io", gpu_pod(8, labels={"pod-group.scheduling.sigs.k8s.io": "ring"})),
    ("scheduling.run.ai", gpu_pod(8, annotations={"pod-group-name": "ring"}, schedulerName="kai-scheduler")),
]


def test_every_way_of_naming_a_pod_group_says_whose_it_is() -> None:
    assert [row.steps for row in GROUPS if ("PodGroup" in row.size) != bool(row.api_groups)] == []


@pytest.mark.parametrize(("api_group", "document"), GROUPED)
def test_a_group_that_the_pod_names_states_how_many_start_together(api_group: str, document: JSON) -> None:
    unknown = gang(document)
    assert (unknown.known, unknown.name, unknown.size) == (True, "ring", 0)
    known = gang(document, size_of={(api_group, "default", "ring"): 5}.get)
    assert known == replace(unknown, size=5)


@pytest.mark.parametrize(("api_group", "document"), GROUPED)
def test_groups_of_other_namespaces_names_and_systems_state_nothing(api_group: str, document: JSON) -> None:
    others = {
        (api_group, "other", "ring"): 5,
        (api_group, "default", "other"): 5,
        ("example.com", "default", "ring"): 5,
    }
    assert gang(document, size_of=others.get).size == 0


def test_what_the_user_says_about_a_group_beats_the_group() -> None:
    said = {"scheduling.k8s.io/group-name": "ring", "podberth.io/gang-size": "6"}
    assert gang(gpu_pod(annotations=said), size_of={("scheduling.volcano.sh", "default", "ring"): 5}.get).size == 6


def test_a_label_that_names_a_native_group_has_its_size() -> None:
    sizes = {("scheduling.k8s.io", "default", "ring"): 5}
    document = pod(labels={"podberth.io/gang": "ring"})
    assert gang(document, pod_groups=frozenset({"ring"}), size_of=sizes.get).size == 5
    assert gang(document, size_of=sizes.get).size == 0
