"""What is laid over the trace's machines, against the rule in the module's docstring."""

from collections import Counter

import pytest
from bench.placement.manifests import manifest
from bench.placement.overlay import RACK, Machine, lay_over, machines_to_cut, need_mib, right_profile
from bench.placement.trace import TraceError, TraceNode, TracePod

from podberth.facts.cluster import collect
from podberth.topology.index import TopologyIndex

WHOLE = "nvidia.com/gpu"


def node(number: int = 0, model: str = "G2", gpus: int = 8) -> TraceNode:
    return TraceNode(name=f"m-{number:02}", cpu_milli=96000, memory_mib=393216, gpus=gpus, model=model)


def sharing(milli: int) -> TracePod:
    return TracePod(name="p", cpu_milli=4000, memory_mib=8192, gpus=1, gpu_milli=milli, created=0)


def only(machine_node: TraceNode) -> Machine:
    [machine] = lay_over([machine_node], [])
    return machine


@pytest.mark.parametrize(
    ("model", "gpus", "product", "domains"),
    [
        ("T4", 2, "Tesla-T4", ()),
        ("P100", 1, "Tesla-P100-PCIE-16GB", ()),
        ("A10", 1, "NVIDIA-A10", ()),
        ("V100M16", 1, "Tesla-V100-SXM2-16GB", ()),
        ("V100M32", 4, "Tesla-V100-SXM2-32GB", ((0, 1, 2, 3),)),
        ("V100M32", 8, "Tesla-V100-SXM2-32GB", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("G3", 8, "NVIDIA-H100-80GB-HBM3", (tuple(range(8)),)),
        ("G2", 8, "NVIDIA-A100-SXM4-40GB", (tuple(range(8)),)),
    ],
)
def test_products_and_links(model: str, gpus: int, product: str, domains: tuple[tuple[int, ...], ...]) -> None:
    machine = only(node(model=model, gpus=gpus))
    assert machine.node["metadata"]["labels"]["nvidia.com/gpu.product"] == product
    assert machine.domains == domains
    assert machine.node["spec"]["taints"] == [{"key": WHOLE, "effect": "NoSchedule"}]
    status = machine.node["status"]["allocatable"]
    assert (status["cpu"], status["memory"], status[WHOLE]) == ("96000m", "393216Mi", str(gpus))
    assert [unit.size for unit in machine.units] == [1.0] * gpus


def test_podberth_reads_what_is_laid_over() -> None:
    machines = lay_over([node(0, "T4", 4), node(1, "V100M16", 8), node(2)], [])
    documents = [each for machine in machines for each in (machine.node, machine.config_map)]
    objects = collect(documents, now=None)
    assert objects.problems == ()
    assert TopologyIndex.build(objects.nodes).node_count == 3


def test_the_layout_is_sized_for_the_profile_that_is_wanted_most() -> None:
    # A machine has six instances of 2g.10gb: seven pods need two machines; the twelve 1g.5gb of one are enough.
    pods = [sharing(500)] * 7 + [sharing(100)] * 5
    nodes = [node(number) for number in range(8)]
    assert machines_to_cut(nodes, pods) == 2
    kinds = [machine.kind for machine in lay_over(nodes, pods)]
    assert Counter(kinds) == {"dgx-a100-8-mig-mixed": 2, "dgx-a100-8": 3, "l40s-8": 3}
    pattern = ["dgx-a100-8", "l40s-8", "dgx-a100-8", "dgx-a100-8-mig-mixed", "l40s-8", "dgx-a100-8", "l40s-8"]
    assert kinds == [*pattern, "dgx-a100-8-mig-mixed"]


def test_never_more_than_half_is_cut() -> None:
    assert machines_to_cut([node(number) for number in range(5)], [sharing(500)] * 1000) == 2


def test_the_layout_can_be_made_for_less() -> None:
    nodes, pods = [node(number) for number in range(20)], [sharing(500)] * 24
    assert [machines_to_cut(nodes, pods, demand) for demand in (0.0, 0.25, 0.3, 0.5, 1.0)] == [0, 1, 2, 2, 4]


def test_what_is_not_cut_is_the_same_machine_whole() -> None:
    nodes, pods = [node(number) for number in range(8)], [sharing(500)] * 7
    pairs = list(zip(lay_over(nodes, pods), lay_over(nodes, pods, cut=False), strict=True))
    changed = {(one.kind, other.kind) for one, other in pairs if one.kind != other.kind}
    assert changed == {("dgx-a100-8-mig-mixed", "dgx-a100-8")}


def test_instances_are_parts_of_their_gpus() -> None:
    nodes, pods = [node(number) for number in range(2)], [sharing(500)]
    machine = next(each for each in lay_over(nodes, pods) if each.kind == "dgx-a100-8-mig-mixed")
    sizes = Counter({unit.gpu: 0 for unit in machine.units})
    for unit in machine.units:
        sizes[unit.gpu] += int(unit.size * 8)
    assert sizes == dict.fromkeys(range(8), 8)
    offered = Counter(unit.resource for unit in machine.units)
    allocatable = machine.node["status"]["allocatable"]
    assert offered == {name: int(amount) for name, amount in allocatable.items() if name.startswith("nvidia.com/")}


def test_sixteen_machines_of_one_kind_share_a_rack() -> None:
    machines = lay_over([node(number, "T4", 2) for number in range(17)] + [node(17, "P100", 2)], [])
    racks = Counter(machine.node["metadata"]["labels"][RACK] for machine in machines)
    assert racks == {"t4-2-00": 16, "t4-2-01": 1, "p100-2-00": 1}


def test_a_rack_has_as_many_machines_as_asked_for() -> None:
    machines = lay_over([node(number, "T4", 2) for number in range(5)], [], rack_size=4)
    racks = Counter(machine.node["metadata"]["labels"][RACK] for machine in machines)
    assert racks == {"t4-2-00": 4, "t4-2-01": 1}


@pytest.mark.parametrize(
    ("milli", "mib", "profile"),
    [
        (1, 16, "1g.5gb"),
        (316, 4854, "1g.5gb"),
        (317, 4870, "2g.10gb"),
        (641, 9846, "2g.10gb"),
        (642, 9862, "3g.20gb"),
        (999, 15345, "3g.20gb"),
    ],
)
def test_a_part_is_of_the_smallest_gpu(milli: int, mib: int, profile: str) -> None:
    assert (need_mib(sharing(milli)), right_profile(sharing(milli))) == (mib, profile)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (node(model="H9"), "m-00: model: got 'H9', want one of T4, P100, A10, V100M16, V100M32, G2, G3"),
        (node(gpus=4), "m-00: gpu: got 4 of model G2, want 8"),
    ],
)
def test_a_machine_without_a_rule_is_named(wrong: TraceNode, said: str) -> None:
    with pytest.raises(TraceError) as caught:
        lay_over([wrong], [])
    assert str(caught.value) == said


def test_a_pod_with_a_part_asks_for_a_whole_gpu_and_says_what_is_enough() -> None:
    document = manifest(sharing(500))
    assert document["metadata"]["annotations"] == {"podberth.io/gpu-memory": "7680Mi"}
    [container] = document["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": "4000m", "memory": "8192Mi", WHOLE: "1"}
    assert container["resources"]["requests"] == container["resources"]["limits"]


def test_by_hand_it_asks_for_the_instance() -> None:
    document = manifest(sharing(500), by_hand=True)
    assert document["metadata"]["annotations"] == {}
    assert document["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-2g.10gb"] == "1"
    assert WHOLE not in document["spec"]["containers"][0]["resources"]["limits"]


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize(("gpus", "asked"), [(0, {}), (1, {WHOLE: "1"}), (4, {WHOLE: "4"})])
def test_whole_gpus_and_none_are_asked_for_as_they_are(gpus: int, asked: dict[str, str], *, by_hand: bool) -> None:
    pod = TracePod(name="p", cpu_milli=1, memory_mib=1, gpus=gpus, gpu_milli=1000 if gpus else 0, created=0)
    document = manifest(pod, by_hand=by_hand)
    limits = document["spec"]["containers"][0]["resources"]["limits"]
    assert {name: amount for name, amount in limits.items() if "/" in name} == asked
    assert document["metadata"]["annotations"] == {}
