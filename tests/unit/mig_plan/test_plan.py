"""Plans of a fleet: how much is served, that no plan is worse than today, and which nodes change."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, combinations_with_replacement, product
from itertools import count as counting
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podberth.devices import mig_placement
from podberth.devices.mig import table_for
from podberth.facts.cluster import collect
from podberth.mig_plan.demand import Need
from podberth.mig_plan.layouts import UNCUT, WHOLE, Layout, layouts_of
from podberth.mig_plan.plan import Plan, plan
from podberth.mig_plan.pools import Machine, Pool, measures_of, pools_of, sum_of
from podberth.mig_plan.search import Found, search
from podberth.mig_plan.serving import served, sized
from podberth.topology.node import MigOffer, Node
from podberth.topology.shapes import simulate


def nodes(**shapes: int) -> tuple[Node, ...]:
    names = [(shape.replace("_", "-"), number) for shape, number in shapes.items()]
    documents = [each for shape, number in names for at in range(number) for each in simulate(shape, f"{shape}-{at}")]
    return collect(documents, now=None).nodes


def planned(fleet: tuple[Node, ...], demand: dict[Need, int], *, seconds: float = 100.0) -> Plan:
    ticks = counting()
    pools, _ = pools_of(fleet)
    return plan(pools, Counter(demand), clock=lambda: next(ticks) / 1000, seconds=seconds)


def test_parts_are_cut_where_nobody_needs_the_whole() -> None:
    found = planned(nodes(dgx_a100_8=2), {Need(memory_mib=4096): 14, Need(gpus=1): 14})
    assert not found.keeps
    # Today the 14 small needs and the 14 whole ones want the 16 GPUs; then each has its place.
    assert found.planned.waiting == ()
    assert dict(found.today.waiting) == {Need(memory_mib=4096): 6, Need(gpus=1): 6}
    assert found.exact
    [pool] = found.pools
    [config] = pool.configs
    assert config.layouts == (UNCUT,) * 6 + ((("1g.5gb", 7),),) * 2
    assert sorted([*config.nodes, *pool.kept]) == ["dgx-a100-8-0", "dgx-a100-8-1"]
    assert len(pool.kept) == 1


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
    assert [(each.pool.table.name, len(each.kept)) for each in found.pools] == [("A100-40GB", 0), ("H100-80GB", 1)]


def test_a_profile_is_offered_that_keeps_small_pods_from_large_slices() -> None:
    """Two 3g.20gb on each GPU would be worth the most, if the small pods did not ask for them as well."""
    found = planned(nodes(dgx_a100_8=1), {Need(memory_mib=19000): 16, Need(memory_mib=4096): 56})
    assert found.exact
    [config] = found.pools[0].configs
    assert sorted(Counter(config.layouts).values()) == [1, 7]
    assert (("1g.5gb", 4), ("3g.20gb", 1)) in config.layouts
    assert found.planned.memory_mib == pytest.approx(15 * 19000 + 4 * 4096)


def test_a_profile_that_both_models_have_is_offered_where_both_are_needed() -> None:
    """A pod asks for one profile. If the A100s offered 1g.5gb, no pod of 4 GiB would ask for the H100s' 1g.10gb."""
    found = planned(nodes(dgx_a100_8=4, hgx_h100_8=4), {Need(memory_mib=4096): 400})
    assert found.exact
    assert found.planned.memory_mib == pytest.approx((32 * 4 + 32 * 7) * 4096)
    assert [each.planned_mib for each in found.pools] == pytest.approx([32 * 4 * 4096, 32 * 7 * 4096])


def test_one_pod_more_changes_one_node() -> None:
    found = planned(nodes(dgx_a100_8_mig_mixed=40), {Need(memory_mib=4096): 40 * 12 + 1})
    assert dict(found.today.waiting) == {Need(memory_mib=4096): 1}
    assert found.planned.waiting == ()
    [pool] = found.pools
    assert (len(pool.kept), sum(len(config.nodes) for config in pool.configs)) == (39, 1)


@pytest.mark.parametrize("profile", ["7g.40gb", "1g.5gb+me"])
def test_each_profile_of_the_model_can_be_needed(profile: str) -> None:
    found = planned(nodes(dgx_a100_8=1), {Need(profile=profile): 4, Need(memory_mib=4096): 7})
    assert found.exact
    assert found.planned.waiting == ()


def test_a_need_larger_than_every_gpu_waits() -> None:
    found = planned(nodes(dgx_a100_8=1), {Need(memory_mib=90_000): 2, Need(gpus=1): 1})
    assert dict(found.today.waiting) == {Need(memory_mib=90_000): 2}
    assert (found.today.memory_mib, found.keeps) == (40960, True)


def test_today_counts_for_each_need_that_it_serves() -> None:
    """Each profile of a mixed machine is in use, and the whole GPUs."""
    demand = {Need(memory_mib=4096): 12, Need(memory_mib=9216): 6, Need(profile="3g.20gb"): 6, Need(gpus=2): 1}
    found = planned(nodes(dgx_a100_8_mig_mixed=1), demand)
    assert found.keeps
    assert found.exact
    assert found.today.waiting == ()
    assert found.today.memory_mib == found.demand_mib == 12 * 4096 + 6 * 9216 + 6 * 19968 + 2 * 40960


def test_a_whole_gpu_that_is_too_small_is_no_place() -> None:
    """No profile of an H100 has 45,000 MiB but that of the whole, and no A100; those are left to who takes any GPU."""
    found = planned(nodes(dgx_a100_8=1, hgx_h100_8=1), {Need(memory_mib=45_000): 12, Need(gpus=1): 8})
    assert found.today.waiting == ((Need(memory_mib=45_000), 4),)
    assert found.exact
    assert found.keeps


def test_a_larger_gpu_is_a_place_for_who_takes_any() -> None:
    found = planned(nodes(dgx_a100_8=1, hgx_h100_8=1), {Need(memory_mib=45_000): 3, Need(gpus=1): 13})
    assert found.today.waiting == ()
    assert found.exact


def test_of_pods_that_ask_for_the_same_as_many_wait_as_there_are_too_few_places() -> None:
    found = planned(nodes(dgx_a100_8=1), {Need(memory_mib=20_000 + size): 3 for size in range(5)}, seconds=0.0)
    assert sum(count for _, count in found.today.waiting) == 15 - 8


def test_a_profile_that_no_model_has_waits() -> None:
    found = planned(nodes(dgx_a100_8=1), {Need(profile="1g.12gb"): 2})
    assert found.today.waiting == ((Need(profile="1g.12gb"), 2),)
    assert found.demand_mib == 2 * 10240
    assert found.keeps


def machine(name: str, **fields: Any) -> Node:
    return Node(name=name, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}, **fields)


def reporting(product: str, name: str, profiles: tuple[str, ...]) -> Node:
    """Return a node whose agent reports these profiles, on one whole GPU of a model."""
    [node] = nodes(dgx_a100_8=1)
    assert node.topology is not None
    gpu = replace(node.topology.gpus[0], product=product, pci_id="20B2", memory_mib=81920)
    known = table_for(product)
    assert known is not None
    offers = tuple(
        MigOffer(profile=each, max_instances=known.rows[each].max_instances, memory_mib=0, pci_id="")
        for each in profiles
    )
    topology = replace(node.topology, gpus=(gpu,), mig_offers=offers)
    return replace(node, name=name, topology=topology, capacity={}, allocatable={"nvidia.com/gpu": 1})


def test_a_node_whose_gpus_are_all_cut_is_planned() -> None:
    """Strategy mixed, with the document of the agent: there is no GPU that ``nvidia.com/gpu`` could be a part of."""
    [node] = nodes(dgx_a100_8_mig_mixed=1)
    assert node.topology is not None
    cut = replace(
        node,
        topology=replace(node.topology, gpus=tuple(replace(gpu, mig_enabled=True) for gpu in node.topology.gpus)),
        capacity={},
        allocatable={"nvidia.com/gpu": 0, "nvidia.com/mig-1g.5gb": 56},
    )
    [pool], left_out = pools_of([cut])
    assert left_out == ()
    assert (pool.memory_mib, pool.offer) == (40960, {"1g.5gb": 56})


def test_nodes_whose_drivers_name_profiles_differently_get_their_own_names() -> None:
    """Drivers 535 and 545 say 3g.39gb on an A100 of 80 GB, and later ones 3g.40gb."""
    old, new = ("3g.39gb", "7g.79gb"), ("3g.40gb", "7g.80gb")
    fleet = [
        reporting("NVIDIA A100-SXM4-80GB", f"{name}-{at}", ("1g.10gb", *names))
        for name, names in (("old", old), ("new", new))
        for at in range(2)
    ]
    found = planned(tuple(fleet), {Need(profile="3g.39gb"): 4, Need(profile="3g.40gb"): 4})
    written = {
        (node.partition("-")[0], name)
        for pool in found.pools
        for config in pool.configs
        for node in config.nodes
        for layout in config.layouts
        for name, _ in layout
    }
    assert written == {("old", "3g.39gb"), ("new", "3g.40gb")}


@pytest.mark.parametrize(("offer", "name"), [({}, "1g.23gb"), ({"nvidia.com/mig-1g.24gb": 7}, "1g.24gb")])
def test_a_memory_gets_the_name_of_one_driver(offer: dict[str, int], name: str) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-GB200", "nvidia.com/gpu.count": "4"}
    node = Node(name="a", labels=labels, allocatable={"nvidia.com/gpu": 4 - len(offer), **offer})
    found = planned((node,), {Need(memory_mib=20_000): 20, Need(memory_mib=19_000): 8})
    [pool] = found.pools
    profiles = {profile for config in pool.configs for layout in config.layouts for profile, _ in layout}
    assert profiles == {name}


def test_a_number_of_gpus_that_no_machine_has_is_unknown() -> None:
    pools, left_out = pools_of([machine("a", allocatable={"nvidia.com/gpu": 10**9})])
    assert (pools, left_out) == ((), (("the number of GPUs is unknown", 1),))


def test_layouts_are_kept_where_a_search_without_time_finds_worse_ones() -> None:
    """With 1g.10gb on offer alone, both models serve pods of 4 GiB. The search begins with 1g.5gb, which A100s have."""

    def cut(name: str, product: str, instances: int) -> Node:
        labels = {"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": "2"}
        return Node(name=name, labels=labels, allocatable={"nvidia.com/mig-1g.10gb": instances})

    fleet = (
        cut("a", "NVIDIA-A100-SXM4-40GB", 8),
        cut("h", "NVIDIA-H100-80GB-HBM3", 14),
        *nodes(hgx_h200_8=1, hgx_b200_8=1),
    )
    demand = {Need(memory_mib=4096): 200, Need(gpus=16): 1, Need(memory_mib=500): 1, Need(memory_mib=501): 1}
    found = planned(fleet, demand, seconds=0.0)
    assert found.keeps
    assert found.planned == found.today


def test_a_fleet_of_many_pools_is_planned() -> None:
    shapes = ("dgx_a100_8", "dgx_a100_8_mig_mixed", "hgx_h100_8", "h100_nvl_4", "a100_pcie_4", "gb200_tray")
    demand = {Need(memory_mib=size): 30 for size in (4000, 9000, 15_000, 30_000)}
    found = planned(nodes(**dict.fromkeys(shapes, 2)), demand)
    assert found.planned.memory_mib > found.today.memory_mib
    assert len(found.pools) > 2


def test_nodes_that_cannot_be_planned_are_named() -> None:
    pools, left_out = pools_of(nodes(t4_shared=1, l4_4=2, dgx_a100_8_mig_single=1, dgx_a100_8=1))
    assert left_out == (("GPUs without MIG", 3), ("nvidia.com/gpu is a part of a GPU", 1))
    assert [[each.name for each in model.machines] for model in pools] == [["dgx-a100-8-0"]]


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
    assert found.keeps == (found.planned == found.today) == (not found.pools)
    assert found.planned.memory_mib <= found.bound_mib + 1e-3
    in_use = sum(each.planned_mib for each in found.pools)
    assert in_use == pytest.approx(0 if found.keeps else found.planned.memory_mib)
    offers = []
    for each in found.pools:
        offer: Counter[str] = Counter()
        machines = {machine.name: machine for machine in each.pool.machines}
        assert sorted([*each.kept, *(name for config in each.configs for name in config.nodes)]) == sorted(machines)
        for name in each.kept:
            offer.update(dict(machines[name].offer))
        for config in each.configs:
            assert {machines[name].gpus for name in config.nodes} == {len(config.layouts)}
            for layout in config.layouts:
                names = [profile for profile, count in layout for _ in range(count)]
                assert layout == UNCUT or mig_placement.fits(names, each.pool.table)
                offer.update({profile: count * len(config.nodes) for profile, count in layout})
        offers.append(sized(offer, each.pool.memory_mib))
    # What the configurations and the kept nodes offer serves as much as the plan says.
    if found.pools:
        assert served(sum_of(offers), demand, measures_of([each.pool for each in found.pools])) == found.planned


def pool(model: str, gpus: int) -> Pool:
    table = table_for(model)
    assert table is not None
    machine = Machine(name=model, gpus=gpus, offer=((WHOLE, gpus),))
    return Pool(table=table, memory_mib=table.whole_gb * 1024, machines=(machine,))


def all_layouts(model: Pool) -> list[Layout]:
    """All layouts of one GPU to which no instance of some set of profiles can be added."""
    plain = [name for name in model.table.rows if not set(name) & {"+", "-"}]
    sets = [each for size in range(len(plain) + 1) for each in combinations(plain, size)]
    return sorted({layout for each in sets for layout in layouts_of(each, model.table)})


def offer_of(found: Found, pools: list[Pool]) -> Counter[str]:
    return sum_of(
        sized({name: count * gpus for name, count in layout}, model.memory_mib)
        for model, chosen in zip(pools, found.layouts, strict=True)
        for layout, gpus in chosen.items()
    )


A30S, A100, A100S = pool("NVIDIA-A30", 2), pool("NVIDIA-A100-SXM4-40GB", 1), pool("NVIDIA-A100-SXM4-40GB", 2)
SMALL_LAYOUTS = {each.table.name: all_layouts(each) for each in (A30S, A100)}
small_needs = st.one_of(
    st.builds(Need, memory_mib=st.sampled_from([2000, 4500, 5500, 9000, 11_000, 19_000, 23_000, 40_000, 50_000])),
    st.builds(Need, profile=st.sampled_from(["1g.5gb", "2g.10gb", "2g.12gb", "4g.20gb", "7g.40gb", "4g.24gb"])),
    st.builds(Need, gpus=st.integers(1, 2)),
)


@given(
    pools=st.sampled_from([[A30S], [A100], [A100S], [A30S, A100]]),
    demand=st.dictionaries(small_needs, st.integers(1, 6), min_size=1, max_size=4),
)
def test_a_small_fleet_is_planned_exactly(pools: list[Pool], demand: dict[Need, int]) -> None:
    """No layouts of all that the models have serve more, if pods ask for the smallest profile on offer."""
    measures = measures_of(pools)
    ticks = counting()
    found = search(pools, demand, measures, lambda: next(ticks) / 1000, 1000.0)
    gpus = [combinations_with_replacement(SMALL_LAYOUTS[each.table.name], each.gpus) for each in pools]
    best = max(
        served(
            sum_of(
                sized(dict(layout), model.memory_mib)
                for model, chosen in zip(pools, choice, strict=True)
                for layout in chosen
            ),
            demand,
            measures,
        ).memory_mib
        for choice in product(*gpus)
    )
    assert served(offer_of(found, pools), demand, measures).memory_mib == pytest.approx(best)
    assert found.bound_mib == pytest.approx(best)


MODELS = ("NVIDIA-A30", "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB", "NVIDIA-H200", "NVIDIA-B200", "NVIDIA-GB200")


def test_a_fleet_of_many_models_gets_a_plan_in_its_time() -> None:
    """It has too many sets of profiles to try all; the search climbs, and the plan is better than today's."""
    pools = [pool(model, 8) for model in MODELS]
    demand = {Need(memory_mib=size): 60 for size in (4000, 9000, 17_000, 30_000, 60_000, 80_000)}
    measures = measures_of(pools)
    ticks = counting()
    today = served(sum_of(each.offer for each in pools), demand, measures).memory_mib
    hurried, patient = (search(pools, demand, measures, lambda: next(ticks) / 1000, each) for each in (0.0, 5.0))
    before = next(ticks)
    search(pools, demand, measures, lambda: next(ticks) / 1000, 0.0)
    assert next(ticks) - before < 100
    serves = [served(offer_of(found, pools), demand, measures).memory_mib for found in (hurried, patient)]
    assert today < serves[0] <= serves[1] <= patient.bound_mib


def test_a_demand_of_nothing_known_needs_no_plan() -> None:
    found = planned((), {Need(gpus=1): 1})
    assert (found.pools, found.keeps) == ((), True)


@pytest.mark.parametrize("machines", [1, 40])
def test_a_search_without_time_still_plans(machines: int) -> None:
    found = planned(
        nodes(dgx_a100_8=machines), {Need(memory_mib=4096): 7 * machines, Need(gpus=7): machines}, seconds=0.0
    )
    assert found.planned.waiting == ()
