from dataclasses import replace

import pytest

from node_builders import GPU, machines, nodes_of
from podberth.topology.capability import capability_of
from podberth.topology.model import Gpu, Links, Node, NodeTopology


def labelled(amount: int = 8, resource: str = GPU, **labels: str) -> Node:
    spelled = {f"nvidia.com/{key.replace('__', '-').replace('_', '.')}": value for key, value in labels.items()}
    return Node(name="n", allocatable={resource: amount}, labels=spelled)


@pytest.mark.parametrize(
    ("node", "domain"),
    [
        (labelled(gpu_product="NVIDIA-H100-80GB-HBM3"), 8),
        (labelled(4, gpu_product="NVIDIA-H100-80GB-HBM3"), 1),
        (labelled(gpu_product="NVIDIA-H100-NVL"), 1),
        (labelled(gpu_product="NVIDIA-L40S"), 1),
        (labelled(), 1),
        (labelled(4, gpu_product="NVIDIA-GB200"), 1),
        (labelled(4, gpu_product="NVIDIA-GB200", gpu_clique="a.1"), 4),
        (labelled(gpu_product="NVIDIA-H100-80GB-HBM3", gpu_replicas="2"), 1),
        (labelled(gpu_product="NVIDIA-H100-80GB-HBM3-SHARED"), 1),
    ],
)
def test_without_a_document_only_products_that_are_always_meshed_count(node: Node, domain: int) -> None:
    assert capability_of(node).domain_of.get(GPU, 1) == domain


@pytest.mark.parametrize(
    ("node", "known", "domain"),
    [
        # boards without an NVLink connector, and boards that always have it
        (labelled(4, gpu_product="NVIDIA-L4"), True, 0),
        (labelled(8, gpu_product="NVIDIA-H100-80GB-HBM3"), True, 8),
        # neither: perhaps bridged, perhaps a virtual machine without NVSwitch
        (labelled(4, gpu_product="NVIDIA-A100-PCIE-40GB"), False, 0),
        (labelled(4, gpu_product="NVIDIA-H100-80GB-HBM3"), False, 0),
        (labelled(4), False, 0),
        # what is cut or shared has no peers, and the label says it where there is no agent
        (labelled(4, gpu_product="NVIDIA-A100-PCIE-40GB-SHARED"), True, 0),
        (replace(labelled(4), labels={"podberth.io/link-domain-size": "2"}), True, 2),
        (replace(labelled(4), labels={"podberth.io/link-domain-size": "1"}), True, 0),
        (replace(labelled(4), labels={"podberth.io/link-domain-size": "many"}), False, 0),
    ],
)
def test_not_linked_and_not_known_are_two_things(node: Node, known: bool, domain: int) -> None:
    found = capability_of(node)
    assert (found.links_known, found.domain_of.get(GPU, 0)) == (known, domain)


def test_the_document_wins_over_what_the_product_suggests() -> None:
    node = replace(
        labelled(gpu_product="NVIDIA-H100-80GB-HBM3"),
        topology=NodeTopology(gpus=tuple(Gpu(index=i) for i in range(8)), links=Links(shape="none")),
    )
    assert capability_of(node).domains == ()


def test_a_gpu_in_mig_mode_is_out_of_its_link_domain() -> None:
    gpus = tuple(Gpu(index=i, mig_enabled=i < 5, mig_pending=i < 5) for i in range(8))
    links = Links(shape="full-mesh", domains=(tuple(range(8)),))
    node = replace(labelled(3), topology=NodeTopology(gpus=gpus, links=links))
    assert capability_of(node).domain_of[GPU] == 3


def test_no_more_than_the_offered_gpus_share_links() -> None:
    (node,) = nodes_of(machines("hgx-h100-8", 1))
    assert capability_of(replace(node, allocatable={GPU: 6})).domain_of[GPU] == 6


@pytest.mark.parametrize(
    ("node", "memory"),
    [
        (labelled(gpu_memory="81559"), 81559),
        (labelled(gpu_memory="lots"), 0),
        (labelled(), 0),
        (labelled(7, "nvidia.com/mig-1g.5gb", mig__1g_5gb_memory="4800"), 4800),
        (labelled(7, "nvidia.com/mig-1g.5gb", gpu_product="NVIDIA-A100-SXM4-40GB"), 4864),
        (labelled(7, "nvidia.com/mig-1g.18gb"), 16128),
        (labelled(14, "nvidia.com/mig-1g.5gb.shared", gpu_product="NVIDIA-A100-SXM4-40GB"), 4864),
        (labelled(7, "nvidia.com/mig-nonsense"), 0),
        (labelled(8, "amd.com/gpu", gpu_memory="81559"), 0),
    ],
)
def test_memory_comes_from_labels_then_tables_then_the_name(node: Node, memory: int) -> None:
    assert sum(size for _, size in capability_of(node).memory) == memory


def test_of_two_models_in_a_node_the_lesser_memory_counts() -> None:
    gpus = (
        Gpu(index=0, memory_mib=81559),
        Gpu(index=1, memory_mib=40960),
        Gpu(index=2, memory_mib=1, mig_enabled=True),
    )
    node = replace(labelled(2, gpu_memory="81559"), topology=NodeTopology(gpus=gpus))
    assert capability_of(node).memory_of[GPU] == 40960


def test_equal_nodes_have_equal_capabilities() -> None:
    first, second = nodes_of(machines("hgx-h100-8", 2))
    assert capability_of(first) == capability_of(second)
    assert hash(capability_of(first)) == hash(capability_of(second))
