import pytest

from node_builders import GPU, machines, nodes_of
from podberth.errors import TopologyError
from podberth.kube.selector import tolerates
from podberth.topology.capability import capability_of
from podberth.topology.shapes import SHAPES, simulate


@pytest.mark.parametrize(
    ("shape", "devices", "product", "memory", "domain"),
    [
        ("hgx-h100-8", {GPU: 8}, "NVIDIA-H100-80GB-HBM3", 81559, 8),
        ("hgx-h200-8", {GPU: 8}, "NVIDIA-H200", 143771, 8),
        ("hgx-b200-8", {GPU: 8}, "NVIDIA-B200", 183359, 8),
        ("dgx-a100-8", {GPU: 8}, "NVIDIA-A100-SXM4-40GB", 40960, 8),
        ("dgx-a100-8-mig-single", {GPU: 56}, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 4864, 1),
        (
            "dgx-a100-8-mig-mixed",
            {GPU: 2, "nvidia.com/mig-1g.5gb": 12, "nvidia.com/mig-2g.10gb": 6, "nvidia.com/mig-3g.20gb": 6},
            "NVIDIA-A100-SXM4-40GB",
            40960,
            2,
        ),
        ("a100-pcie-4", {GPU: 4}, "NVIDIA-A100-PCIE-40GB", 40960, 2),
        ("h100-nvl-4", {GPU: 4}, "NVIDIA-H100-NVL", 95830, 2),
        ("l4-1", {GPU: 1}, "NVIDIA-L4", 23034, 1),
        ("l4-4", {GPU: 4}, "NVIDIA-L4", 23034, 1),
        ("t4-shared", {GPU: 4}, "Tesla-T4-SHARED", 15360, 1),
        ("l40s-8", {GPU: 8}, "NVIDIA-L40S", 46068, 1),
        ("gb200-tray", {GPU: 4}, "NVIDIA-GB200", 189471, 4),
    ],
)
def test_a_shape_offers_what_the_machine_does(
    shape: str, devices: dict[str, int], product: str, memory: int, domain: int
) -> None:
    (node,) = nodes_of(machines(shape, 1))
    capability = capability_of(node)
    assert node.allocatable == devices
    assert node.transient == ""
    assert node.labels["nvidia.com/gpu.product"] == product
    assert node.labels["nvidia.com/gpu.memory"] == str(memory)
    assert capability.memory_of[GPU] == memory
    assert capability.domain_of.get(GPU, 1) == domain


def test_a_shape_of_amds_speaks_as_amds_software_does() -> None:
    (node,) = nodes_of(machines("mi300x-8", 1))
    capability = capability_of(node)
    assert node.allocatable == {"amd.com/gpu": 8}
    assert {key: value for key, value in node.labels.items() if "nvidia" in key} == {}
    assert node.labels["amd.com/gpu.product-name"] == "AMD_Instinct_MI300X_OAM"
    assert node.labels["amd.com/gpu.vram"] == "192G"
    assert capability.domain_of == {"amd.com/gpu": 8}
    assert capability.memory_of == {"amd.com/gpu": 196592}


def test_every_shape_of_the_table_is_tested_and_gives_the_same_bytes_each_time() -> None:
    for shape in SHAPES:
        assert simulate(shape, "n") == simulate(shape, "n")


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_can_be_had_wherever_its_table_says(shape: str) -> None:
    for provider in SHAPES[shape].instance_types:
        node, _ = simulate(shape, "n", provider=provider)
        labels, taint = node["metadata"]["labels"], node["spec"]["taints"][0]
        assert all(len(value) <= 63 and value for value in labels.values())
        assert ("node.kubernetes.io/instance-type" in labels) == (provider != "bare")
        assert taint["effect"] == "NoSchedule"


def test_taints_vary_as_they_do_in_the_field() -> None:
    taints = {shape: simulate(shape, "n")[0]["spec"]["taints"] for shape in SHAPES}
    assert taints["t4-shared"] == [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
    assert taints["l4-4"] == [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}]
    assert taints["hgx-h100-8"] == [{"key": GPU, "effect": "NoSchedule"}]
    assert {"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"} in taints["gb200-tray"]
    assert tolerates({"key": GPU, "operator": "Exists"}, taints["t4-shared"][0])


def test_placement_labels_win_and_the_clique_is_the_fabrics() -> None:
    clique = "11111111-2222-3333-4444-555555555555.7"
    (node,) = nodes_of(machines("gb200-tray", 1, placement={"nvidia.com/gpu.clique": clique, "rack": "r1"}))
    assert node.labels["rack"] == "r1"
    assert node.labels["kubernetes.io/arch"] == "arm64"
    assert node.topology is not None
    assert node.topology.fabric is not None
    assert node.topology.fabric.label == clique == node.labels["nvidia.com/gpu.clique"]


def test_no_clique_is_labelled_without_a_fabric_beyond_the_machine() -> None:
    assert not any("nvidia.com/gpu.clique" in node.labels for node in nodes_of(machines("hgx-b200-8", 1)))


def test_instances_of_a_cut_gpu_lie_where_the_driver_puts_them() -> None:
    (node,) = nodes_of(machines("dgx-a100-8-mig-mixed", 1))
    assert node.topology is not None
    placed = [(i.profile, i.start, i.size) for i in node.topology.mig_instances if i.gpu == 2]
    assert placed == [("3g.20gb", 4, 4), ("2g.10gb", 0, 2), ("1g.5gb", 2, 1), ("1g.5gb", 3, 1)]
    assert {i.gpu for i in node.topology.mig_instances} == set(range(2, 8))
    assert {o.profile: o.max_instances for o in node.topology.mig_offers}["1g.10gb"] == 4


@pytest.mark.parametrize(("shape", "provider"), [("hgx-h1000", None), ("a100-pcie-4", "gke"), ("l4-1", "")])
def test_a_machine_that_nobody_has_is_an_error_that_lists_what_there_is(shape: str, provider: str | None) -> None:
    with pytest.raises(TopologyError, match="want one of"):
        simulate(shape, "n", provider=provider)
