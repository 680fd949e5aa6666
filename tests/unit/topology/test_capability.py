from dataclasses import replace

import pytest

from node_builders import GPU, machines, nodes_of
from podberth.devices.mig_placement import capacity
from podberth.topology.capability import capability_of
from podberth.topology.node import Gpu, Links, MigInstance, MigOffer, Node, NodeTopology


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


AMD = "amd.com/gpu"


@pytest.mark.parametrize(
    ("amount", "document", "domain", "memory", "known"),
    [
        (8, True, 8, 196592, True),
        # one is lost, and no longer offered
        (7, True, 7, 196592, True),
        # CPX under resource_naming_strategy=single: a part is called as a GPU is
        (64, True, 0, 0, False),
        # a board of eight is known by its product, as the label has it
        (8, False, 8, 0, True),
        (4, False, 0, 0, False),
    ],
)
def test_amds_gpus_are_linked_as_their_document_or_their_board_says(
    amount: int, document: bool, domain: int, memory: int, known: bool
) -> None:
    (machine,) = nodes_of(machines("mi300x-8", 1))
    capability = capability_of(
        replace(machine, allocatable={AMD: amount}, topology=machine.topology if document else None)
    )
    assert capability.domain_of.get(AMD, 0) == domain
    assert capability.memory_of.get(AMD, 0) == memory
    assert capability.links_known is known


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
        # beyond CEL's int, and beyond what Python reads: a snapshot's labels are nobody's but its author's
        (labelled(gpu_memory="9" * 19), 0),
        (labelled(gpu_memory="9" * 5000), 0),
        (labelled(), 0),
        (labelled(7, "nvidia.com/mig-1g.5gb", mig__1g_5gb_memory="4800"), 4800),
        (labelled(7, "nvidia.com/mig-1g.5gb", gpu_product="NVIDIA-A100-SXM4-40GB"), 4864),
        (labelled(7, "nvidia.com/mig-1g.18gb"), 15360),
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


A100_SINGLE = {"gpu_product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "mig_strategy": "single"}
# https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi: no label of NVIDIA's
GKE_PARTITIONED = {
    "cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
    "cloud.google.com/gke-gpu-partition-size": "1g.5gb",
}


def gke(**labels: str) -> Node:
    return Node(name="n", allocatable={GPU: 56}, labels={**GKE_PARTITIONED, **labels})


@pytest.mark.parametrize(
    ("node", "memory"),
    [
        (labelled(56, gpu_memory="4750", **A100_SINGLE), 4750),
        (labelled(56, **A100_SINGLE), 4864),
        (gke(), 4864),
        (gke(**{"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}), 5 * 1024 * 5 // 6),  # no profile of an H100
        (gke(**{"cloud.google.com/gke-gpu-partition-size": "of tomorrow"}), 0),
        # GPU feature discovery that does not know of MIG describes the whole GPU
        (gke(**{"nvidia.com/gpu.memory": "40960"}), 4864),
        # the plugin's error: nothing to be had, and no memory
        (labelled(56, gpu_product="NVIDIA-A100-SXM4-40GB-MIG-INVALID", mig_strategy="single", gpu_memory="0"), 0),
    ],
)
def test_where_a_gpu_is_a_mig_instance_its_memory_is_the_instances(node: Node, memory: int) -> None:
    found = capability_of(node)
    assert found.memory_of.get(GPU, 0) == memory
    assert found.domains == ()


def test_a_node_whose_gpus_are_all_cut_hands_out_instances_whatever_its_labels_say() -> None:
    gpus = tuple(Gpu(index=i, product="NVIDIA H200", pci_id="2335", mig_enabled=True) for i in range(8))
    instances = tuple(MigInstance(gpu=i % 8, profile="1g.18gb") for i in range(56))
    links = Links(shape="full-mesh", domains=(tuple(range(8)),))
    labels = labelled(56, gpu_product="NVIDIA-H200", gpu_memory="143771")
    found = capability_of(replace(labels, topology=NodeTopology(gpus=gpus, links=links, mig_instances=instances)))
    assert found.memory_of == {GPU: 16384}
    assert found.domains == ()
    listed = (MigOffer(profile="1g.18gb", memory_mib=16128),)
    live = NodeTopology(gpus=gpus, mig_instances=instances, mig_offers=listed)
    assert capability_of(replace(labels, topology=live)).memory_of == {GPU: 16128}


def test_a_node_whose_labels_are_from_before_it_was_made_whole_again_hands_out_gpus() -> None:
    whole = NodeTopology(gpus=(Gpu(index=0, memory_mib=40960),))
    assert capability_of(replace(labelled(1, gpu_memory="4864", **A100_SINGLE), topology=whole)).memory_of == {
        GPU: 40960
    }


def test_an_aks_pool_of_strategy_mixed_offers_each_profile_by_name() -> None:
    # https://learn.microsoft.com/azure/aks/gpu-multi-instance: MIG1g on Standard_ND96asr_v4
    node = labelled(56, "nvidia.com/mig-1g.5gb", mig_strategy="mixed", gpu_product="NVIDIA-A100-SXM4-40GB")
    found = capability_of(node)
    assert (found.amount_of, found.memory_of) == ({"nvidia.com/mig-1g.5gb": 56}, {"nvidia.com/mig-1g.5gb": 4864})


@pytest.mark.parametrize(
    ("node", "shares"),
    [
        (labelled(gpu_product="NVIDIA-A100-SXM4-40GB"), ()),
        (labelled(gpu_replicas="1"), ()),
        (labelled(gpu_replicas="4"), (GPU,)),
        (labelled(gpu_product="Tesla-T4-SHARED"), (GPU,)),
        (labelled(8, f"{GPU}.shared"), (f"{GPU}.shared",)),
        (labelled(8, "nvidia.com/mig-1g.5gb.shared"), ("nvidia.com/mig-1g.5gb.shared",)),
        (labelled(8, "nvidia.com/mig-1g.5gb", mig__1g_5gb_replicas="2"), ("nvidia.com/mig-1g.5gb",)),
        (labelled(8, "nvidia.com/mig-1g.5gb", mig__1g_5gb_replicas="1"), ()),
        (gke(**{"cloud.google.com/gke-gpu-sharing-strategy": "time-sharing"}), (GPU,)),
        (gke(**{"cloud.google.com/gke-gpu-sharing-strategy": "mps"}), (GPU,)),
        (labelled(8, "amd.com/cpx_nps4", gpu_replicas="4"), ()),
    ],
)
def test_shares_are_reported_by_their_name_or_the_nodes_labels(node: Node, shares: tuple[str, ...]) -> None:
    assert capability_of(node).shares == shares


def test_what_a_nodes_gpus_can_be_cut_into_is_its_own_word_then_the_tables() -> None:
    (table,) = capability_of(labelled(gpu_product="NVIDIA-A100-SXM4-80GB")).models
    assert capacity("3g.40gb", table) == 2
    document = NodeTopology(
        gpus=(Gpu(index=0, product="NVIDIA A100-SXM4-80GB", pci_id="20B2"),),
        mig_offers=(
            MigOffer(profile="3g.39gb", pci_id="20B2", max_instances=2),
            MigOffer(profile="7g.79gb", pci_id="20B2"),
            MigOffer(profile="1g.6gb", pci_id="20B7"),
        ),
    )
    (live,) = capability_of(replace(labelled(gpu_product="NVIDIA-A100-SXM4-80GB"), topology=document)).models
    assert set(live.rows) == {"3g.39gb", "7g.79gb"}
    assert capacity("3g.40gb", live) == 0
    assert capability_of(labelled(gpu_product="NVIDIA-L4")).models == ()


def test_a_node_of_two_models_can_be_cut_as_either() -> None:
    gpus = (Gpu(index=0, pci_id="20B2"), Gpu(index=1, pci_id="20B7"), Gpu(index=2, pci_id="27B8"))
    models = capability_of(replace(labelled(3), topology=NodeTopology(gpus=gpus))).models
    assert [model.name for model in models] == ["A100-80GB", "A30"]


def two_profiles() -> NodeTopology:
    instances = (MigInstance(gpu=0, profile="1g.5gb"), MigInstance(gpu=0, profile="3g.20gb"))
    return NodeTopology(gpus=(Gpu(index=0, pci_id="20B0", mig_enabled=True),), mig_instances=instances)


@pytest.mark.parametrize(
    ("node", "profile"),
    [
        (labelled(56, **A100_SINGLE), "1g.5gb"),
        (gke(), "1g.5gb"),
        (gke(**{"cloud.google.com/gke-gpu-partition-size": "of tomorrow"}), ""),
        (labelled(8, gpu_product="NVIDIA-A100-SXM4-40GB"), ""),
        (labelled(56, "nvidia.com/mig-1g.5gb", mig_strategy="mixed"), ""),
        (replace(labelled(56, **A100_SINGLE), allocatable={}), ""),
        (nodes_of(machines("dgx-a100-8-mig-single", 1))[0], "1g.5gb"),
        (nodes_of(machines("dgx-a100-8-mig-single", 1, provider="gke"))[0], "1g.5gb"),
        (nodes_of(machines("dgx-a100-8-mig-mixed", 1))[0], ""),
        (replace(labelled(9), topology=two_profiles()), ""),
    ],
)
def test_the_profile_that_a_gpu_is_here_is_known(node: Node, profile: str) -> None:
    assert capability_of(node).instance == profile


def test_a_split_compute_instance_among_what_an_agent_lists_breaks_nothing() -> None:
    gpu = Gpu(index=0, product="NVIDIA A100-SXM4-40GB")
    offers = tuple(MigOffer(profile=profile) for profile in ("1c.3g.20gb", "1g.5gb"))
    [table] = capability_of(Node(name="n", topology=NodeTopology(gpus=(gpu,), mig_offers=offers))).models
    assert (table.slices, set(table.rows)) == (3, {"1c.3g.20gb", "1g.5gb"})
