from podberth.facts.cluster import collect
from podberth.topology.overview import LevelSummary, overview
from topology_scenes import LEAF, LOST, ZONE, cluster

PICTURE = overview(collect(cluster(), now=None).nodes)


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


def test_nothing_is_nothing() -> None:
    nothing = overview(())
    assert (nothing.nodes, nothing.kinds, nothing.levels, nothing.unhealthy) == (0, (), (), ())
