"""The bench's workloads have each list of the table of bounds, and are within the bounds themselves."""

import pytest
from bench import genome, roles
from bench.found import WORKLOADS
from bench.genome import Genome
from bench.roles import Shape

from podberth.kube.pod_limits import ALL_ENTRIES, entries_in
from podberth.workload.templates import templates

SHAPES = tuple(roles.of_lists())


def test_each_list_of_the_table_is_in_a_workload_of_each_number_of_roles() -> None:
    for number in roles.NUMBERS:
        lists = {path for shape in SHAPES if shape.roles == number for path in shape.pod.lists}
        assert lists == set(genome.PATHS)


def test_the_pods_of_a_few_roles_are_together_within_the_bound_of_one() -> None:
    for shape in [each for each in SHAPES if each.roles == 4][::12]:
        found = templates(roles.build(shape, 0), namespace="default")
        assert len(found) == 4
        assert sum(entries_in(each.own) for each in found) <= ALL_ENTRIES, shape.name


def test_a_shape_is_read_from_its_name() -> None:
    for shape in (*roles.plain(), *WORKLOADS, *SHAPES[::40]):
        assert roles.read(shape.name) == shape
    with pytest.raises(ValueError, match="4 pods"):
        roles.read("4 pods")


@pytest.mark.parametrize("differing", [each for each in roles.KINDS if each != "nothing"])
def test_roles_differ_in_what_is_said(differing: str) -> None:
    found = templates(roles.build(Shape(Genome(), 3, differing), 0), namespace="default")
    assert len({str(each.own) for each in found}) == 3
    again = templates(roles.build(Shape(Genome(), 3), 0), namespace="default")
    assert len({str(each.own) for each in again}) == 1
