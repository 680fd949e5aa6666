"""Every row of the table of bounds has pods in the bench of the largest ones, and these are at the bound."""

from collections.abc import Callable, Mapping
from itertools import combinations
from random import Random
from typing import Any

import pytest
from bench import clusters, genome
from bench.found import FOUND

from podberth.devices.claims import KnownDevices
from podberth.facts.cluster import collect
from podberth.kinds.dossiers.yunikorn import TASK_GROUPS
from podberth.kube.pod_limits import (
    ALL,
    ANNOTATIONS,
    DEVICES,
    GPUS,
    RECORD,
    RECORD_CHANGES,
    Bound,
    entries_in,
    excess,
)
from podberth.kube.shape import shape_problems
from podberth.mutation import record
from podberth.mutation.seal import OFFLINE
from podberth.workload.gpus import gpu_facts
from properties import examples

Pod = dict[str, Any]


def row_id(row: Bound) -> str:
    """Return a short name of a row of the table."""
    return f"{'.'.join(row.path)} {row.unit}"


@pytest.fixture(scope="module")
def devices() -> KnownDevices:
    """Return what the cluster of the bench says about claims."""
    return collect(clusters.claim_templates(), now=None).devices


def entries_at(pod: Pod, path: tuple[str, ...]) -> int:
    """Return how many entries a pod has at a path, of all elements together."""
    found: list[Any] = [pod]
    for step in path:
        if step == "*":
            found = [item for each in found if isinstance(each, list) for item in each]
        else:
            found = [each[step] for each in found if isinstance(each, dict) and step in each]
    return sum(len(each) for each in found if isinstance(each, list | dict))


def annotation(pod: Pod, row: Bound) -> str:
    """Return the value of the annotation that a row is about; empty if there is none."""
    return str(pod["metadata"]["annotations"].get(row.path[-1], ""))


def changes_read(pod: Pod) -> int:
    """Return how many changes podberth reads in the record of a pod."""
    wrote = [each for changes in record.find(pod, "default", OFFLINE).record.values() for each in changes.values()]
    return sum(len(part) if isinstance(part, list) else 1 for each in wrote for part in _parts(each))


def _parts(wrote: Any) -> list[Any]:
    return list(wrote.values()) if isinstance(wrote, dict) else [wrote]


COUNTED: Mapping[Bound, Callable[[Pod, KnownDevices], int]] = {
    ALL: lambda pod, _: entries_in(pod),
    ANNOTATIONS: lambda pod, _: sum(len(key) + len(value) for key, value in pod["metadata"]["annotations"].items()),
    TASK_GROUPS: lambda pod, _: len(annotation(pod, TASK_GROUPS)),
    GPUS: lambda pod, devices: len(gpu_facts(pod, "default", devices).requests),
    DEVICES: lambda pod, devices: len(gpu_facts(pod, "default", devices).claims),
    RECORD: lambda pod, _: len(annotation(pod, RECORD)) if record.find(pod, "default", OFFLINE).text else 0,
    RECORD_CHANGES: lambda pod, _: changes_read(pod),
}
"""The rows that are no list, as podberth counts what they bound."""


def counted(row: Bound, pod: Pod, devices: KnownDevices) -> int:
    """Return how much a pod has of what a row bounds."""
    count = COUNTED.get(row)
    return entries_at(pod, row.path) if count is None else count(pod, devices)


@pytest.mark.parametrize("row", genome.ROWS, ids=row_id)
def test_every_row_is_reached_at_its_bound_and_no_pod_is_beyond_one(row: Bound, devices: KnownDevices) -> None:
    pods = [genome.build(each, 1) for each in genome.alone(row)]
    for pod in pods:
        assert excess(pod) == ""
        assert shape_problems(pod) == []
        assert genome.fits(pod)
    assert row.most in [counted(row, pod, devices) for pod in pods]


@pytest.mark.parametrize("row", [each for each in genome.ROWS if each in COUNTED and each is not ALL], ids=row_id)
def test_a_row_that_is_no_list_is_at_its_bound_beside_a_list_at_its_bound(row: Bound, devices: KnownDevices) -> None:
    [volumes] = [each for each in genome.ROWS if each.path == ("spec", "volumes")]
    for pair in ((row, volumes), (volumes, row)):
        pod = genome.build(genome.together(*pair), 1)
        assert counted(row, pod, devices) == row.most
        assert counted(volumes, pod, devices) == volumes.most


def test_pairs_have_every_row_but_those_of_the_same_kind() -> None:
    assert set(genome.families()) >= COUNTED.keys()
    kinds = {"initContainers", "ephemeralContainers", "podAntiAffinity", "namespaceSelector"}
    assert {step for each in set(genome.ROWS) - set(genome.families()) for step in each.path} >= kinds
    assert all(kinds.intersection(each.path) for each in set(genome.ROWS) - set(genome.families()))


def test_a_record_of_more_changes_than_the_bound_is_not_read(devices: KnownDevices) -> None:
    pod = genome.build(genome.Genome(record=RECORD_CHANGES.most + 1), 1)
    assert counted(RECORD, pod, devices) == RECORD.most
    assert counted(RECORD_CHANGES, pod, devices) == 0


@pytest.mark.parametrize("kind", [0, 1])
def test_claims_may_ask_for_more_devices_than_are_counted(kind: int, devices: KnownDevices) -> None:
    """Claims of a template at its bound are beyond the bound of devices, and those of small templates reach it."""
    [claims] = [each for each in genome.ROWS if each.path == ("spec", "resourceClaims")]
    first = next(genome.alone(DEVICES))
    pod = genome.build(genome.Genome({**first.lists, claims.path: genome.Gene(claims.most, kind)}), 1)
    assert counted(DEVICES, pod, devices) == claims.most * list(clusters.CLAIM_TEMPLATES.values())[kind]


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
