from builders import gpu_pod
from node_builders import node_manifest, nodes_of
from podberth.facts.cluster import collect
from podberth.topology.holdings import FreeLinked, Holdings, Tally
from podberth.topology.overview import LevelSummary, overview
from topology_scenes import LEAF, LOST, ZONE, cluster

NODES = collect(cluster(), now=None).nodes
PICTURE = overview(NODES)


def test_every_node_is_of_one_kind() -> None:
    names = sorted(name for each in PICTURE.kinds for name in each.names)
    assert names == sorted(node.name for node in collect(cluster(), now=None).nodes)
    assert (PICTURE.nodes, PICTURE.described) == (11, 10)


def test_nodes_that_are_not_well_stay_of_their_kind() -> None:
    first = PICTURE.kinds[0]
    assert first.names == tuple(f"h100-{number}" for number in range(8))
    assert first.transient == {
        "MIG reconfiguring": ("h100-6",),
        "cordoned": ("h100-3",),
        "unhealthy GPU": ("h100-5",),
    }
    assert first.where == (("zone-a", 4), ("zone-b", 4))
    assert first.kind.offers == (("nvidia.com/gpu", 8),)
    assert first.kind.title == "8 x NVIDIA-H100-80GB-HBM3, full-mesh of 8"
    assert PICTURE.ill == (("h100-5", 2, LOST),)


def test_layouts_are_reported_once() -> None:
    [mig] = [each.kind for each in PICTURE.kinds if each.names == ("mig",)]
    assert mig.layout == (
        "1 of 2 x 1g.5gb + 2g.10gb + 3g.20gb; 3 of 2g.10gb + 2 x 1g.5gb + 3g.20gb; 1 of 2g.10gb + 3g.20gb; 1 uncut"
    )


def test_levels_come_widest_first_with_their_domains() -> None:
    assert [level.key for level in PICTURE.levels] == ["topology.kubernetes.io/region", ZONE, LEAF]
    assert PICTURE.levels[-1] == LevelSummary(key=LEAF, domains=(("leaf-0", 4, 32), ("leaf-1", 4, 32)), outside=3)


def test_nics_are_no_devices_of_a_domain() -> None:
    nodes = nodes_of(
        node_manifest("gpus", devices={"nvidia.com/gpu": "8", "nvidia.com/rdma-vf": "16"}, labels={LEAF: "leaf-0"}),
        node_manifest("nics", devices={"nvidia.com/rdma-vf": "16"}),
    )
    assert overview(nodes).levels == (LevelSummary(key=LEAF, domains=(("leaf-0", 1, 8),), outside=0),)


def held() -> Holdings:
    """Return what pods hold in the cluster: seven GPUs of a node, six of a cordoned one, and two slices."""
    pods = [
        gpu_pod(7, name="seven", nodeName="h100-0"),
        gpu_pod(6, name="six", nodeName="h100-3"),
        gpu_pod(2, resource="nvidia.com/mig-1g.5gb", name="slices", nodeName="mig"),
    ]
    return Holdings.of(NODES, pods)


def test_kinds_and_domains_have_what_is_used_and_free_on_their_nodes() -> None:
    found = overview(NODES, holdings=held())
    first = found.kinds[0]
    # Five of eight nodes are healthy; one of the others offers seven of its GPUs.
    linked = FreeLinked("nvidia.com/gpu", 8, 8)
    assert first.use == {"nvidia.com/gpu": Tally(used=13, free=33, free_unhealthy=17, most=8, linked=linked)}
    slices = next(each.use for each in found.kinds if each.names == ("mig",))
    assert slices is not None
    assert slices["nvidia.com/mig-1g.5gb"].used == 2
    leaves = found.levels[-1]
    assert leaves.use == {
        "leaf-0": Tally(used=13, free=17, free_unhealthy=2, most=8),
        "leaf-1": Tally(free=16, free_unhealthy=15, most=8),
    }


def test_without_pods_a_picture_has_nothing_of_what_is_free() -> None:
    assert [each.use for each in PICTURE.kinds] == [None] * len(PICTURE.kinds)
    assert [each.use for each in PICTURE.levels] == [None] * len(PICTURE.levels)


def test_nothing_is_nothing() -> None:
    nothing = overview(())
    assert (nothing.nodes, nothing.kinds, nothing.levels, nothing.unhealthy) == (0, (), (), ())
