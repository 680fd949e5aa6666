"""The layouts that `podberth plan mig` makes for the replay's machines, and the devices of those that DRA cuts."""

from collections import Counter

import pytest
from bench.placement import report
from bench.placement.overlay import WHOLE, Machine, lay_over
from bench.placement.partitions import by_claims, plan_of, planned
from bench.placement.trace import TraceNode, TracePod

from podberth.facts.cluster import collect
from podberth.topology.claimed_devices import claimed_use


def cluster(*models: str) -> tuple[Machine, ...]:
    gpus = {"T4": 2}
    nodes = [
        TraceNode(name=f"m-{number}", cpu_milli=96000, memory_mib=393216, gpus=gpus.get(model, 8), model=model)
        for number, model in enumerate(models)
    ]
    return lay_over(nodes, [], cut=False)


def pods(count: int, *, gpus: int = 1, milli: int = 1000) -> list[TracePod]:
    one = TracePod(name="p", cpu_milli=4000, memory_mib=8192, gpus=gpus, gpu_milli=milli if gpus else 0, created=0)
    return [one] * count


def offered(machines: tuple[Machine, ...]) -> Counter[str]:
    return Counter(unit.resource.removeprefix("nvidia.com/") for machine in machines for unit in machine.units)


def test_the_layouts_are_those_of_the_plan() -> None:
    before = cluster("G2")
    # 15,345 MiB each: two of them on a GPU, and four pods want a whole one.
    machines = planned(before, pods(8, milli=999) + pods(4), 1.0, seed=1)
    assert offered(machines) == {"gpu": 4, "mig-3g.20gb": 8}
    [machine] = machines
    assert (machine.kind, machine.gpus) == ("dgx-a100-8-planned", 8)
    allocatable = machine.node["status"]["allocatable"]
    assert {name: n for name, n in allocatable.items() if "nvidia.com" in name} == {
        WHOLE: "4",
        "nvidia.com/mig-3g.20gb": "8",
    }
    assert machine.node["metadata"]["labels"]["nvidia.com/mig-3g.20gb.count"] == "8"
    assert before[0].node["status"]["allocatable"][WHOLE] == "8"
    # podberth reads it without a complaint, and would not plan it otherwise.
    assert collect([machine.node, machine.config_map], now=None).problems == ()
    assert plan_of(machines, pods(8, milli=999) + pods(4)).keeps


def test_a_part_of_the_demand_needs_fewer() -> None:
    everything = pods(8, milli=999) + pods(8)
    assert plan_of(cluster("G2"), everything).demand_mib > plan_of(cluster("G2"), everything[:8]).demand_mib
    assert planned(cluster("G2"), everything, 0.5, seed=1) == cluster("G2")


def test_pods_of_whole_gpus_are_for_gpus_without_mig_first() -> None:
    wanted = pods(3) + pods(1, gpus=8)
    [need] = plan_of(cluster("T4", "G2"), wanted).planned.waiting
    assert (str(need[0]), need[1]) == ("8 GPUs", 1)
    # Two of the three are for the T4s; so one has a GPU, and for the last eight are too few.
    assert plan_of(cluster("T4", "G2"), wanted[2:]).demand_mib == 8 * 40960
    assert plan_of(cluster("T4", "G2"), wanted).demand_mib == 9 * 40960


def test_machines_with_mig_are_behind_a_driver_and_the_others_are_not() -> None:
    t4, _, l40s, h100 = machines = by_claims(cluster("T4", "G2", "G2", "G3"))
    assert [machine.kind for machine in machines] == ["t4-2", "dgx-a100-8-dra", "l40s-8", "hgx-h100-8-dra"]
    assert [len(machine.resource_slices) for machine in machines] == [0, 9, 0, 9]
    assert [WHOLE in machine.node["status"]["allocatable"] for machine in machines] == [True, False, True, False]
    assert {unit.device for unit in (*t4.units, *l40s.units)} == {""}
    assert report.cluster(machines).endswith("MIG instances: none.")
    assert h100.gpus == 8


@pytest.mark.parametrize(
    ("model", "free"),
    [
        ("G2", {"": 8, "1g.5gb": 56, "1g.10gb": 32, "2g.10gb": 24, "3g.20gb": 16, "4g.20gb": 8, "7g.40gb": 8}),
        ("G3", {"": 8, "1g.10gb": 56, "1g.20gb": 32, "2g.20gb": 24, "3g.40gb": 16, "4g.40gb": 8, "7g.80gb": 8}),
    ],
)
def test_the_units_are_the_devices_of_the_slices(model: str, free: dict[str, int]) -> None:
    [machine] = by_claims(cluster(model))
    devices = {
        device["name"]: (int(device["capacity"]["memory"]["value"].removesuffix("Mi")), len(counters))
        for each in machine.resource_slices
        for device in each["spec"].get("devices", ())
        for counters in [device["consumesCounters"][0]["counters"]]
    }
    assert {unit.device: (unit.memory_mib, len(unit.slices)) for unit in machine.units} == devices
    # podberth counts the same off the slices.
    use = claimed_use(machine.resource_slices, ())[machine.name]
    assert {each.resource.partition(" ")[2]: each.free for each in use} == free
