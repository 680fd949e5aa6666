"""Partitioned GPUs on as many nodes as have CPU and host memory for the pods on them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import container, gpu_pod, pod
from podberth.facts.cluster import collect
from podberth.mig_plan.demand import Need, of_pods
from podberth.mig_plan.hosts import Hosts, hosts_of, spread
from podberth.mig_plan.layouts import UNCUT, Layout
from podberth.mig_plan.plan import Plan, plan
from podberth.mig_plan.pools import pools_of
from podberth.topology.shapes import simulate

Document = dict[str, Any]

SEVEN: Layout = (("1g.5gb", 7),)
SMALL = Need(memory_mib=4096)
MACHINES = tuple(f"dgx-{number}" for number in range(4))
CPU = 1000
GIB = 1000 * 2**30


def small(cpu: str, count: int = 1, memory: str = "1Gi", **fields: Any) -> list[Document]:
    """Return pods that wait, each for 4 GiB of a GPU and so much CPU and memory."""
    used = container("main", limits={"nvidia.com/gpu": "1", "cpu": cpu, "memory": memory})
    annotations = {"podberth.io/gpu-memory": "4Gi"}
    return [pod(used, name=f"small-{number}", annotations=annotations, **fields) for number in range(count)]


def fleet(cpus: int = 64) -> list[Document]:
    documents = [each for name in MACHINES for each in simulate("dgx-a100-8", name)]
    for each in documents:
        if each["kind"] == "Node":
            each["status"]["allocatable"] |= {"cpu": str(cpus), "memory": "512Gi"}
    return documents


def planned(*pods: Document) -> Plan:
    documents = [*fleet(), *pods]
    pools, _ = pools_of(collect(documents, now=None).nodes)
    demand = of_pods(pods, set(MACHINES))
    return plan(pools, demand, hosts_of(documents, set(MACHINES)), clock=lambda: 0.0)


def partitioned(found: Plan) -> Counter[int]:
    """Return the number of nodes by the number of their partitioned GPUs, of those that have some."""
    counts: Counter[int] = Counter()
    for pool in found.pools:
        for config in pool.configs:
            counts[sum(layout != UNCUT for layout in config.layouts)] += len(config.nodes)
    return counts


@pytest.mark.parametrize(
    ("cpu", "memory", "nodes"),
    [
        ("1", "1Gi", {5: 1}),  # 35 pods want 35 of 64 CPUs
        ("3", "1Gi", {3: 1, 2: 1}),  # 105, and 21 pods on three GPUs want 63
        ("1", "20Gi", {3: 1, 2: 1}),  # 700 of 512 GiB, and 21 pods want 420
        ("8", "1Gi", {2: 1, 1: 3}),  # nothing is enough: all nodes bear their part
    ],
)
def test_as_many_nodes_are_partitioned_as_have_cpu_and_memory_for_their_pods(
    cpu: str, memory: str, nodes: dict[int, int]
) -> None:
    # Whole GPUs are wanted, too, so that no other layout serves more; they request nothing.
    found = planned(*small(cpu, 35, memory), *(gpu_pod(1, name=f"whole-{number}") for number in range(27)))
    assert found.planned.waiting == ()
    assert partitioned(found) == nodes


def test_pods_of_whole_gpus_and_pods_without_gpus_take_their_part() -> None:
    whole = [
        pod(container("main", limits={"nvidia.com/gpu": "1", "cpu": "7"}), name=f"whole-{number}")
        for number in range(27)
    ]
    # 4 whole GPUs and 28 small pods would want 28 + 28 of 64 CPUs; 3 whole GPUs and 35 small pods want 21 + 35.
    assert partitioned(planned(*small("1", 35), *whole)) == {5: 1}
    beside = [pod(container("main", limits={"cpu": "20"}), name=f"daemon-{name}", nodeName=name) for name in MACHINES]
    assert partitioned(planned(*small("1", 35), *whole, *beside)) == {1: 3, 2: 1}


def test_the_requests_of_pods_are_summed_by_need() -> None:
    two = pod(container("main", limits={"nvidia.com/mig-1g.5gb": "2", "nvidia.com/mig-2g.10gb": "1", "cpu": "3"}))
    ended = {**small("5")[0], "status": {"phase": "Succeeded"}}
    elsewhere = small("5", nodeName="other")
    beside = pod(container("main", limits={"cpu": "4"}), name="beside", nodeName="dgx-0")
    found = hosts_of([*fleet(), *small("2", 3), two, ended, *elsewhere, beside], {"dgx-0", "dgx-1"})
    assert found.free == {
        "dgx-0": {"cpu": 60 * CPU, "memory": 512 * GIB},
        "dgx-1": {"cpu": 64 * CPU, "memory": 512 * GIB},
    }
    assert found.needed == {
        SMALL: {"cpu": 6 * CPU, "memory": 3 * GIB},
        Need(profile="1g.5gb"): {"cpu": 2 * CPU, "memory": 0},
        Need(profile="2g.10gb"): {"cpu": CPU, "memory": 0},
    }


def test_a_plan_without_cpus_partitions_the_fewest_nodes() -> None:
    documents = fleet()
    pools, _ = pools_of(collect(documents, now=None).nodes)
    demand = {SMALL: 35, Need(gpus=1): 27}
    assert partitioned(plan(pools, demand, clock=lambda: 0.0)) == {5: 1}
    assert plan(pools, demand, Hosts(), clock=lambda: 0.0) == plan(pools, demand, clock=lambda: 0.0)


@given(
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=12).map(lambda found: sorted(found, reverse=True)),
    part=st.floats(0, 1),
    most=st.integers(0, 60),
)
def test_every_partitioned_gpu_has_a_node_and_no_node_has_more_than_its_own(
    sizes: list[int], part: float, most: int
) -> None:
    cut = [SEVEN] * round(sum(sizes) * part)

    def bears(size: int, layouts: Sequence[Layout]) -> bool:
        return sum(count for layout in layouts if layout != UNCUT for _, count in layout) <= most * size / 8

    found = spread(cut, sizes, bears)
    assert [len(layouts) for layouts in found] == sizes
    assert sum(layouts.count(SEVEN) for layouts in found) == len(cut)
    for size, layouts in zip(sizes, found, strict=True):
        assert list(layouts) == sorted(layouts, key=lambda layout: layout != UNCUT), size
