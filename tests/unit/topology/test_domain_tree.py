"""The cluster as a tree of domains, down to nodes that are equal."""

from collections.abc import Iterator

from podberth.facts.cluster import collect
from podberth.topology.domain_tree import DomainTree, EqualNodes, domain_tree
from podberth.topology.holdings import Holdings
from podberth.topology.node import Node
from topology_scenes import LEAF, ZONE, cluster, holders

NODES = collect(cluster(), now=None).nodes
LEVELS = ["topology.kubernetes.io/region", ZONE, LEAF]


def leaves(tree: DomainTree) -> Iterator[DomainTree]:
    if not tree.inner:
        yield tree
    for each in tree.inner:
        yield from leaves(each)


def test_domains_are_nested_and_a_level_that_divides_nothing_joins_the_one_above() -> None:
    tree = domain_tree(NODES, LEVELS)
    assert (tree.path, tree.nodes, tree.unhealthy, tree.use) == ((), 11, 3, None)
    lab, east = tree.inner
    assert lab.path == (("topology.kubernetes.io/region", "lab"), (ZONE, "lab-a"))
    assert [each.path[0][1] for each in east.inner] == ["us-east-1a", "zone-a", "zone-b"]
    assert [each.path for each in east.inner[1].inner] == [((LEAF, "leaf-0"),), ((LEAF, "leaf-1"),)]


def test_each_node_is_in_one_leaf() -> None:
    found = [name for leaf in leaves(domain_tree(NODES, LEVELS)) for each in leaf.equal for name in each.names]
    assert sorted(found) == [node.name for node in NODES]


def test_equal_nodes_are_listed_together_by_state_and_use() -> None:
    tree = domain_tree(NODES, LEVELS, Holdings.of(NODES, holders()))
    zone = tree.inner[1].inner[2]
    machine = "8 x NVIDIA-H100-80GB-HBM3"
    assert zone.inner[0].equal == (
        EqualNodes(names=("h100-1",), machine=machine, transient="", use=(("nvidia.com/gpu", 0, 8),)),
        EqualNodes(names=("h100-3",), machine=machine, transient="cordoned", use=(("nvidia.com/gpu", 6, 2),)),
    )
    assert zone.inner[0].use is not None
    assert (zone.inner[0].use.used, zone.inner[0].use.free, zone.inner[0].use.free_unhealthy) == (6, 8, 2)
    alike = [Node(name=name, labels={ZONE: "a"}) for name in "abc"]
    assert domain_tree(alike, [ZONE]).equal == (EqualNodes(names=("a", "b", "c"), machine="", transient="", use=None),)


def test_nodes_without_a_label_come_last_in_a_domain_without_a_name() -> None:
    nodes = [Node(name="a"), Node(name="b", labels={ZONE: "z"})]
    assert [each.path for each in domain_tree(nodes, [ZONE]).inner] == [((ZONE, "z"),), ((ZONE, ""),)]


def test_without_levels_or_nodes_the_cluster_is_one_domain() -> None:
    assert domain_tree([], LEVELS) == DomainTree(path=(), nodes=0, unhealthy=0, use=None)
    assert domain_tree(NODES, []).inner == ()
