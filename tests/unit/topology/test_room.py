from collections.abc import Sequence

import pytest

from podberth.topology.domains import domains, groups
from podberth.topology.need import Need, NodeSelection, covers
from podberth.topology.room import Lack, PodsWanted, lacks
from podberth.wellknown import HOSTNAME_LABEL
from snapshots import cluster, snapshot

RACK = "example.com/rack"
GPU = "nvidia.com/gpu"
INDEX = snapshot(
    objects=[
        {**node, "metadata": {**node["metadata"], "labels": {**(node["metadata"].get("labels") or {}), RACK: rack}}}
        for number, node in enumerate(cluster(hgx_h100_8=3))
        for rack in ("r0" if node["metadata"]["name"] != "hgx-h100-8-2" else "r1",)
    ]
).topology


def need(amount: int, **choice: str) -> Need:
    selector = NodeSelection.of({"nodeSelector": choice}) if choice else None
    return Need(requests=((GPU, amount),) if amount else (), per_container=amount, selector=selector)


def all_of(*roles: tuple[Need, int]) -> tuple[list[PodsWanted], int]:
    return [PodsWanted(each, number, number) for each, number in roles], sum(number for _, number in roles)


def lacking(roles: Sequence[tuple[Need, int]], level: str = "") -> dict[Lack | None, int]:
    found = lacks(INDEX, *all_of(*roles), level)
    assert found is not None
    return dict(found)


@pytest.mark.parametrize(
    ("roles", "lack"),
    [
        ([(need(8), 3)], None),
        ([(need(8), 4)], Lack((0,), 4, 3)),
        ([(need(8), 1), (need(8), 3)], Lack((0, 1), 4, 3)),
        ([(need(5), 2), (need(5), 2)], Lack((0, 1), 4, 3)),
        ([(need(5), 3), (need(3), 3)], None),
        ([(need(8), 2), (need(1), 8)], None),
        ([(need(8), 2), (need(1), 9)], Lack((0, 1), 11, 24, GPU, 25)),
        ([(need(8), 3), (need(0), 9)], None),
    ],
)
def test_roles_that_the_same_nodes_serve_are_added_up(roles: list[tuple[Need, int]], lack: Lack | None) -> None:
    assert lacking(roles) == {lack: 1}


def test_each_domain_is_asked() -> None:
    assert lacking([(need(8), 2)], RACK) == {None: 1, Lack((0,), 2, 1): 1}


def test_equal_hosts_are_looked_at_once() -> None:
    few, many = (snapshot(objects=cluster(hgx_h100_8=hosts)).topology for hosts in (2, 200))
    wanted, together = all_of((need(8), 2))
    assert lacks(few, wanted, together, HOSTNAME_LABEL) == {Lack((0,), 2, 1): 2}
    assert lacks(many, wanted, together, HOSTNAME_LABEL) == {Lack((0,), 2, 1): 200}
    [[machines, hosts]] = domains(list(groups([many.nodes(need(8)).parts])), HOSTNAME_LABEL, many.conventions)
    assert (machines.total(), hosts) == (1, 200)


def test_hosts_that_only_some_pods_choose_are_counted_apart() -> None:
    chosen = need(8, **{HOSTNAME_LABEL: "hgx-h100-8-1"})
    found = list(groups([INDEX.nodes(each).parts for each in (need(8), chosen)]))
    alone = {
        fitting: hosts
        for machines, hosts in domains(found, HOSTNAME_LABEL, INDEX.conventions)
        for _, fitting in machines
    }
    assert alone == {frozenset({0}): 2, frozenset({0, 1}): 1}


def test_what_may_come_first_is_the_smallest() -> None:
    wanted = [PodsWanted(need(8), 4, 0), PodsWanted(need(1), 4, 0)]
    assert lacks(INDEX, wanted, 6) == {None: 1}
    assert lacks(INDEX, wanted, 7) == {Lack((0, 1), 7, 24, GPU, 28): 1}
    assert lacks(INDEX, wanted, 8) == {Lack((0,), 4, 3): 1}
    assert lacks(INDEX, [PodsWanted(need(8), 9, 0), PodsWanted(need(0), 2, 0)], 5) == {None: 1}


def test_pods_that_choose_their_nodes_are_counted_with_those_that_take_any() -> None:
    chosen = need(8, **{RACK: "r1"})
    assert lacking([(need(8), 2), (chosen, 1)]) == {None: 1}
    assert lacking([(need(8), 3), (chosen, 1)]) == {Lack((0, 1), 4, 3): 1}
    assert lacking([(need(8), 1), (chosen, 2)]) == {Lack((1,), 2, 1): 1}


def test_what_fits_nowhere_is_no_matter_of_room() -> None:
    nowhere = need(9)
    assert lacks(INDEX, *all_of((nowhere, 1))) is None
    assert lacking([(nowhere, 1), (need(8), 3)]) == {None: 1}


def test_nobody_is_in_a_domain_of_a_level_that_no_node_has() -> None:
    assert lacking([(need(8), 1)], "example.com/row") == {}


@pytest.mark.parametrize(
    ("weak", "strong"),
    [
        (need(1), need(8)),
        (need(8), need(8, pool="a")),
        (Need(requests=((GPU, 1),), memory_mib=1), Need(requests=((GPU, 1),), memory_mib=2)),
        (Need(requests=((GPU, 1),), tolerations=frozenset({("spot", "Exists", "", "")})), need(1)),
    ],
)
def test_whoever_runs_the_one_could_run_the_other(weak: Need, strong: Need) -> None:
    assert covers(weak, strong)
    assert not covers(strong, weak)
    assert covers(weak, weak)


def test_of_claims_alone_only_claims_alone_say_that_a_node_has_accelerators() -> None:
    claim = Need(claimed=True)
    assert covers(claim, claim)
    assert covers(Need(), claim)
    assert not covers(claim, Need())
    assert not covers(claim, need(1))
    assert not covers(claim, Need(claimed=True, selector=need(1, pool="a").selector))
    assert covers(Need(requests=((GPU, 1),), claimed=True), need(1))


def test_of_two_that_choose_otherwise_nobody_can_say() -> None:
    assert not covers(need(1, pool="a"), need(1, pool="b"))
