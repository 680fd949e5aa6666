from dataclasses import replace

import pytest

from podberth.facts.cluster import collect
from podberth.topology.node import Gpu, MigInstance, Node, NodeTopology
from podberth.topology.node_picture import Segment, layout_of, machine_of, picture_of, shape_of
from podberth.topology.shapes import SHAPES, simulate
from topology_scenes import LEAF, ZONE, cut, large, simulated

A100 = "NVIDIA A100-SXM4-40GB"


def node_of(*documents: dict[str, object]) -> Node:
    [node] = collect(documents, now=None).nodes
    return node


def cut_gpu(*instances: MigInstance, product: str = A100) -> Node:
    """Return a node of one GPU in MIG mode."""
    gpu = Gpu(index=0, product=product, mig_enabled=True, mig_pending=True)
    return Node(name="n", topology=NodeTopology(gpus=(gpu,), mig_instances=instances))


def placed(profile: str, start: int | None, size: int | None) -> MigInstance:
    return MigInstance(gpu=0, profile=profile, start=start, size=size)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_gpu_of_every_shape_is_in_the_picture_once(shape: str) -> None:
    picture = picture_of(node_of(*simulate(shape, "n")))
    indexes = [each.gpu.index for each in picture.gpus]
    assert indexes == list(range(SHAPES[shape].gpus))
    assert sorted(index for _, near in picture.numa for index in near) == indexes
    assert len(picture.levels) == len(indexes)
    for each in picture.gpus:
        assert bool(each.segments) == each.gpu.mig_enabled
        assert sum(one.size for one in each.segments) in {0, 8}


def test_a_slice_that_nothing_fits_into_is_left_over() -> None:
    [first, *_] = picture_of(node_of(*simulate("dgx-a100-8-mig-single", "n"))).gpus
    assert (first.segments[-1], first.room, first.blank) == (Segment(7, 1), (), "left over")


def test_slices_follow_each_other_with_what_is_free_between_them() -> None:
    [gpu] = picture_of(cut_gpu(placed("3g.20gb", 4, 4), placed("1g.5gb", 1, 1))).gpus
    assert gpu.segments == (Segment(0, 1), Segment(1, 1, "1g.5gb"), Segment(2, 2), Segment(4, 4, "3g.20gb"))
    assert dict(gpu.room) == {"1g.5gb": 3, "1g.5gb+me": 1, "1g.10gb": 1, "2g.10gb": 1}


@pytest.mark.parametrize(
    "odd",
    [
        placed("2g.10gb", 3, 2),  # on another
        placed("2g.10gb", 7, 2),  # beyond the end
        placed("1g.5gb", 6, 0),
        placed("1g.5gb", None, None),
    ],
)
def test_an_instance_that_cannot_be_where_it_is_said_to_be_is_distinguished(odd: MigInstance) -> None:
    [gpu] = picture_of(cut_gpu(placed("2g.10gb", 2, 2), odd)).gpus
    assert [one for one in gpu.segments if one.profile] == [Segment(2, 2, "2g.10gb")]
    assert gpu.unplaced == (odd.profile,)
    assert sum(one.size for one in gpu.segments) == 8
    assert gpu.blank == "not known"


def test_instances_of_which_nobody_says_the_place_have_no_bar() -> None:
    [gpu] = picture_of(cut_gpu(placed("3g.20gb", None, None), placed("1g.5gb", None, None))).gpus
    assert (gpu.segments, gpu.unplaced) == ((), ("1g.5gb", "3g.20gb"))
    # The 3g may be at slice 0 or 4, and the 1g where another 3g or a 2g would have to be.
    assert dict(gpu.room) == {"1g.5gb": 2, "1g.5gb+me": 1, "1g.10gb": 1}


def test_a_model_that_no_table_knows_has_no_bar() -> None:
    [gpu] = picture_of(cut_gpu(placed("1g.5gb", 0, 1), product="Unheard-of")).gpus
    assert (gpu.segments, gpu.unplaced, gpu.room) == ((), ("1g.5gb",), ())


def test_the_matrix_is_in_order_of_the_gpus() -> None:
    node, topology = simulated("h100-nvl-4", "n")
    back = replace(
        topology,
        gpus=topology.gpus[::-1],
        links=replace(topology.links, levels=tuple(row[::-1] for row in topology.links.levels[::-1])),
    )
    known = node_of(node)
    assert picture_of(replace(known, topology=back)) == picture_of(replace(known, topology=topology))


def test_states() -> None:
    node, topology = simulated("l4-4", "n")
    gpus = (
        topology.gpus[0],
        replace(topology.gpus[1], problem="XID 79"),
        replace(topology.gpus[2], mig_pending=True),
        replace(topology.gpus[3], mig_enabled=True),
    )
    picture = picture_of(replace(node_of(node), topology=replace(topology, gpus=gpus)))
    assert [each.state for each in picture.gpus] == [
        "healthy",
        "XID 79",
        "MIG on after a reset",
        "MIG off after a reset",
    ]


def test_labels_that_matter_come_levels_first() -> None:
    [node, config_map] = simulate("hgx-h100-8", "n", placement={ZONE: "a", LEAF: "l1", "team": "x"})
    keys = [key for key, _ in picture_of(node_of(node, config_map)).labels]
    assert keys[:4] == ["topology.kubernetes.io/region", ZONE, LEAF, "kubernetes.io/hostname"]
    assert "nvidia.com/gpu.product" in keys
    assert "team" not in keys


def test_a_node_without_a_document_is_known_by_its_labels() -> None:
    node = node_of(simulate("hgx-h100-8", "n")[0])
    picture = picture_of(node)
    assert (picture.described, picture.gpus, picture.shape) == (False, (), "unknown")
    assert machine_of(node) == "8 x NVIDIA-H100-80GB-HBM3"
    assert shape_of(node) == "8 linked, by labels"
    assert shape_of(node_of(*large())) == "islands of 8"


def test_layouts_are_spelled_by_place() -> None:
    assert layout_of(node_of(*cut())) == {
        2: "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4",
        3: "2g.10gb@0 3g.20gb@4",
        4: "uncut",
        5: "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4",
        6: "1g.5gb 1g.5gb 2g.10gb 3g.20gb",
        7: "2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4",
    }
