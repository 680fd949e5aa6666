"""Every row of the table of bounds has pods in the bench of the largest ones, and these are at the bound."""

from itertools import combinations
from random import Random

import pytest
from bench import genome
from bench.found import FOUND

from podberth.kube.pod_limits import (
    ALL,
    ANNOTATIONS,
    BOUNDS,
    DEVICES,
    GPUS,
    LARGEST,
    RECORD,
    RECORD_CHANGES,
    TASK_GROUPS,
    excess,
)
from podberth.kube.shape import shape_problems
from properties import examples

OTHERS = {ALL, ANNOTATIONS, DEVICES, GPUS, RECORD, RECORD_CHANGES, TASK_GROUPS}
"""Rows that are no list of a pod: ``Genome`` makes what they are about by itself, or from other lists."""


@pytest.mark.parametrize("path", LARGEST, ids=".".join)
def test_every_list_is_made_at_its_bound(path: tuple[str, ...]) -> None:
    for each in genome.alone(path):
        document = genome.build(each, 1)
        assert excess(document) == ""
        assert shape_problems(document) == []
        assert genome.fits(document)
    assert any(counted(genome.build(each, 1), path) == LARGEST[path] for each in genome.alone(path))


def counted(document: object, path: tuple[str, ...]) -> int:
    """Return how many entries a pod has at a path, of all elements together."""
    found = [document]
    for step in path:
        if step == "*":
            found = [item for each in found if isinstance(each, list) for item in each]
        else:
            found = [each[step] for each in found if isinstance(each, dict) and step in each]
    return sum(len(each) for each in found if isinstance(each, list | dict))


def test_every_other_row_is_known_here() -> None:
    assert {each for each in BOUNDS if each.unit != "entries" or each.path not in LARGEST} == OTHERS


def test_two_lists_are_made_together_within_the_bound_of_all() -> None:
    for one, other in list(combinations(genome.families(), 2))[::100]:
        assert excess(genome.build(genome.together(one, other), 1)) == ""


def test_a_search_stays_within_the_shape_of_a_pod() -> None:
    random = Random(1)  # noqa: S311 - no secret
    found = genome.Genome()
    for number in range(examples(200)):
        found = genome.changed(found, random)
        assert shape_problems(genome.build(found, number)) == []
        assert genome.read(found.name) == found


@pytest.mark.parametrize("name", FOUND)
def test_what_a_search_has_found_is_still_within_the_bounds(name: str) -> None:
    assert genome.fits(genome.build(FOUND[name], 1))
