"""Admission and controller agree on a gang's group: the fields of its name, and its API group."""

import pytest

from builders import gpu_pod
from podberth.controller.plan.systems import nested
from podberth.kinds.systems import PodGroupKind
from podberth.mutation.membership import REFERENCES
from podberth.topology.pod_groups import POD_GROUP_KINDS
from podberth.workload.systems import JOINED

MAKES = [row for row in POD_GROUP_KINDS if row.minimum]


def test_groups_are_made_of_the_systems_that_a_policy_may_choose() -> None:
    assert {row.name for row in MAKES} == JOINED.keys()


@pytest.mark.parametrize("row", MAKES, ids=lambda row: row.name)
def test_a_group_is_read_where_admission_writes_its_name_and_made_in_the_api_group_that_it_joins(
    row: PodGroupKind,
) -> None:
    document = gpu_pod(8)
    part, *rest = REFERENCES[row.name]
    document[part] = document[part] | nested(tuple(rest), "ring")
    assert row.read(document) == "ring"
    assert [each.name for each in POD_GROUP_KINDS if each.read(document)] == [row.name]
    assert row.api_groups[0] == JOINED[row.name].pod_groups
