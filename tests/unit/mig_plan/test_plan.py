"""Plans of a fleet: how much is served, that no plan is worse than today, and which nodes change."""

from collections import Counter
from itertools import combinations, combinations_with_replacement
from itertools import count as counting

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podberth.facts.cluster import collect
from podberth.mig_plan.demand import Need
from podberth.mig_plan.layouts import WHOLE, Layout, layouts_of
from podberth.mig_plan.plan import Machine, Plan, Pool, plan, served
from podberth.topology.capability import capability_of
from podberth.topology.node import Node
from podberth.topology.shapes import simulate


def nodes(**shapes: int) -> tuple[Node, ...]:
    names = [(shape.replace("_", "-"), number) for shape, number in shapes.items()]
    documents = [each for shape, number in names for at in range(number) for each in simulate(shape, f"{shape}-{at}")]
    return collect(documents, now=None).nodes


def planned(fleet: tuple[Node, ...], demand: dict[Need, int], *, seconds: float = 100.0) -> Plan:
    ticks = counting()
    return plan(fleet, Counter(demand), clock=lambda: next(ticks) / 10, seconds=seconds)


def test_parts_are_cut_where_nobody_needs_the_whole() -> None:
    found = planned(nodes(dgx_a100_8=2), {Need(memory_mib=4096): 14, Need(gpus=1): 14})
    assert not found.keeps
    # Today the 14 small needs and the 14 whole ones want the 16 GPUs; then each has its place.
    assert found.planned.waiting == ()
    assert dict(found.today.waiting) == {Need(memory_mib=4096): 6, Need(gpus=1): 6}
    assert found.exact
    [pool] = found.pools
    layouts = Counter(layout for config in pool.configs for layout in config.layouts for _ in config.nodes)
    assert layouts == {(("1g.5gb", 7),): 2, ((WHOLE, 1),): 14}
    assert [len(config.changed) for config in pool.configs] == [0, 1]
    assert {node for config in pool.configs for node in config.nodes} == {"dgx-a100-8-0", "dgx-a100-8-1"}
    assert [len(config.layouts) for config in pool.configs] == [8, 8]


def test_what_a_node_offers_today_counts() -> None:
    """A mixed machine offers 12 instances of 1g.5gb: as many small needs have a place today."""
    found = planned(nodes(dgx_a100_8_mig_mixed=1), {Need(memory_mib=4096): 12})
    assert found.keeps
    assert found.pools == ()
    assert found.today == found.planned
    assert (found.today.memory_mib, found.today.waiting) == (12 * 4096, ())


def test_a_need_asks_for_the_smallest_profile_on_offer() -> None:
    """As mig-right-size: 9 GiB fit into 2g.10gb, of which there are 6; the free 3g.20gb are asked for by nobody."""
    found = planned(nodes(dgx_a100_8_mig_mixed=1), {Need(memory_mib=9216): 12})
    assert dict(found.today.waiting) == {Need(memory_mib=9216): 6}
    assert found.planned.waiting == ()


def test_a_need_of_a_profile_gets_no_other() -> None:
    found = planned(nodes(dgx_a100_8=1), {Need(profile="2g.10gb"): 3, Need(profile="1g.10gb"): 1})
    assert dict(found.today.waiting) == {Need(profile="2g.10gb"): 3, Need(profile="1g.10gb"): 1}
    assert found.planned.waiting == ()


def test_whole_gpus_are_left_where_no_part_is_needed() -> None:
    found = planned(nodes(dgx_a100_8=1, hgx_h100_8=1), {Need(memory_mib=4096): 56, Need(gpus=8): 1})
    assert found.planned.waiting == ()
    assert [(each.pool.table.name, sum(len(config.changed) for config in each.configs)) for each in found.pools] == [
        ("A100-40GB", 1),
        ("H100-80GB", 0),
    ]


def test_nodes_that_cannot_be_planned_are_named() -> None:
    found = planned(
        nodes(t4_shared=1, l4_4=2, dgx_a100_8_mig_single=1, dgx_a100_8=1), {Need(memory_mib=4096): 7, Need(gpus=7): 1}
    )
    assert found.left_out == (("GPUs without MIG", 3), ("nvidia.com/gpu is a part of a GPU", 1))
    assert sum(len(each.pool.machines) for each in found.pools) == 1


FLEETS = (
    nodes(dgx_a100_8=1, dgx_a100_8_mig_mixed=1),
    nodes(dgx_a100_8_mig_mixed=2, hgx_h100_8=1),
    nodes(hgx_h100_8=14),
)
needs = st.one_of(
    st.builds(Need, memory_mib=st.integers(1, 90_000)),
    st.builds(Need, profile=st.sampled_from(["1g.5gb", "1g.10gb", "3g.40gb", "2g.10gb"])),
    st.builds(Need, gpus=st.integers(1, 8)),
)


@given(fleet=st.sampled_from(FLEETS), demand=st.dictionaries(needs, st.integers(1, 60), min_size=1, max_size=6))
def test_no_plan_serves_less_than_today(fleet: tuple[Node, ...], demand: dict[Need, int]) -> None:
    found = planned(fleet, demand, seconds=20.0)
    assert found.planned.memory_mib >= found.today.memory_mib
    assert found.keeps == (found.planned == found.today)
    assert found.planned.memory_mib <= found.bound_mib <= found.demand_mib
    for each in found.pools:
        assert sum(len(config.layouts) * len(config.nodes) for config in each.configs) == each.pool.gpus
        assert sorted(name for config in each.configs for name in config.nodes) == [
            machine.name for machine in each.pool.machines
        ]


A100S = Node(
    name="two",
    labels={
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
        "nvidia.com/gpu.count": "2",
        "nvidia.com/gpu.memory": "40960",
    },
    allocatable={"nvidia.com/gpu": 2},
)
few_needs = st.one_of(
    st.builds(Need, memory_mib=st.sampled_from([2000, 4000, 7000, 9000, 15_000, 30_000, 50_000])),
    st.builds(Need, profile=st.sampled_from(["1g.5gb", "3g.20gb", "7g.40gb"])),
    st.builds(Need, gpus=st.integers(1, 2)),
)


def of_all_kinds(pool: Pool) -> list[Layout]:
    """Return the layouts of one GPU that cannot be added to, for each choice of profiles."""
    names = [name for name in pool.table.rows if "+" not in name]
    subsets = (chosen for size in range(len(names) + 1) for chosen in combinations(names, size))
    return sorted({layout for chosen in subsets for layout in layouts_of(chosen, pool.table)})


@settings(max_examples=25)
@given(demand=st.dictionaries(few_needs, st.integers(1, 9), min_size=1, max_size=4))
def test_a_plan_of_one_pool_is_exact_against_all_that_can_be_tried(demand: dict[Need, int]) -> None:
    found = planned((A100S,), demand)
    assert found.exact
    pool = Pool(
        table=capability_of(A100S).models[0],
        memory_mib=40960,
        machines=(Machine(name="two", gpus=2, offer=((WHOLE, 2),)),),
    )
    best = max(
        served(Counter(dict(one)) + Counter(dict(other)), [pool], demand).memory_mib
        for one, other in combinations_with_replacement(of_all_kinds(pool), 2)
    )
    assert found.planned.memory_mib == best


def test_a_need_larger_than_any_gpu_has_no_place() -> None:
    found = planned(nodes(dgx_a100_8=1), {Need(memory_mib=50_000): 2, Need(memory_mib=30_000): 1})
    assert dict(found.planned.waiting) == {Need(memory_mib=50_000): 2}


def test_twelve_pools_are_planned() -> None:
    shapes = ("dgx_a100_8", "dgx_a100_8_mig_mixed", "hgx_h100_8", "h100_nvl_4", "a100_pcie_4", "gb200_tray")
    fleet = nodes(**dict.fromkeys(shapes, 2))
    found = planned(fleet, {Need(memory_mib=size): 30 for size in (4000, 9000, 15_000, 30_000)})
    assert found.planned.memory_mib > found.today.memory_mib
    assert len(found.pools) > 2


def test_a_demand_of_nothing_known_needs_no_plan() -> None:
    found = planned((), {Need(gpus=1): 1})
    assert (found.pools, found.keeps) == ((), True)


@pytest.mark.parametrize("machines", [1, 40])
def test_a_search_without_time_still_plans(machines: int) -> None:
    found = planned(
        nodes(dgx_a100_8=machines), {Need(memory_mib=4096): 7 * machines, Need(gpus=7): machines}, seconds=0.0
    )
    assert found.planned.waiting == ()
