"""Whatever a document claims, as long as it can be decoded: its picture can be made, and holds together."""

from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from podberth.check.report.styled_lines import visible
from podberth.cli.topology_html import cluster_html, node_html
from podberth.cli.topology_svg import cluster_svg, node_svg
from podberth.topology.cluster_difference import difference
from podberth.topology.domain_tree import DomainTree
from podberth.topology.holdings import BoundPod, Holdings, uses_of
from podberth.topology.node import Gpu, Links, MigInstance, MigOffer, Node, NodeTopology, Taint
from podberth.topology.node_picture import picture_of
from podberth.topology.overview import overview

PROFILES = ["1g.5gb", "1g.10gb", "1g.10gb+me", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", "9g.999gb", "1c.2g.10gb"]
PRODUCTS = ["NVIDIA A100-SXM4-40GB", "NVIDIA A30", "Unheard-of", "", "<&\"'>"]
PLACES = st.none() | st.integers(0, 8)
HELD: Any = {"namespace": "\x1b", "devices": (("nvidia.com/gpu", 3),), "has_claims": False}
TEXTS = st.text(max_size=20)


@st.composite
def topologies(draw: st.DrawFn) -> NodeTopology:
    """Draw a document within the bounds of the codec."""
    indexes = draw(st.lists(st.integers(0, 255), max_size=5, unique=True))
    modes = [draw(st.booleans()) for _ in indexes]
    gpus = [
        Gpu(
            index=index,
            product=draw(st.sampled_from(PRODUCTS)),
            pci_id=draw(st.sampled_from(["", "20B0", "FFFF"])),
            memory_mib=draw(st.sampled_from([0, 1, 40960])),
            numa_node=draw(st.none() | st.integers(0, 3)),
            mig_enabled=mode,
            mig_pending=draw(st.booleans()),
            problem=draw(st.sampled_from(["", "XID 79", "<b>"])),
        )
        for index, mode in zip(indexes, modes, strict=True)
    ]
    cut = [gpu.index for gpu in gpus if gpu.mig_enabled]
    instance = st.builds(
        MigInstance, gpu=st.sampled_from(cut or [0]), profile=st.sampled_from(PROFILES), start=PLACES, size=PLACES
    )
    offer = st.builds(
        MigOffer,
        profile=st.sampled_from(PROFILES),
        max_instances=st.integers(0, 8),
        memory_mib=st.sampled_from([0, 4864]),
    )
    levels = tuple(tuple(draw(st.sampled_from(["X", "NV4", "SYS", "", "<&>"])) for _ in gpus) for _ in gpus)
    return NodeTopology(
        gpus=tuple(gpus),
        links=Links(levels=draw(st.sampled_from([(), levels]))),
        mig_instances=tuple(draw(st.lists(instance, max_size=9))) if cut else (),
        mig_offers=tuple(draw(st.lists(offer, max_size=3))),
    )


def nodes(name: str) -> st.SearchStrategy[Node]:
    """Draw a node of that name."""
    amounts = st.dictionaries(st.sampled_from(["nvidia.com/gpu", "nvidia.com/mig-1g.5gb"]), st.integers(1, 9))
    return st.builds(
        Node,
        name=st.just(name),
        labels=st.dictionaries(st.sampled_from(["topology.kubernetes.io/zone", "nvidia.com/gpu.product", "x"]), TEXTS),
        taints=st.lists(st.builds(Taint, TEXTS, TEXTS, st.just("NoSchedule")), max_size=2).map(tuple),
        allocatable=amounts,
        capacity=amounts,
        topology=st.none() | topologies(),
        transient=st.sampled_from(["", "stale", "cordoned"]),
    )


CLUSTERS: Any = st.tuples(nodes("a"), nodes("b"), nodes("c")).flatmap(
    lambda drawn: st.lists(st.sampled_from(drawn), unique_by=lambda node: node.name)
)


@given(nodes("n"))
def test_instances_are_drawn_once_and_side_by_side(node: Node) -> None:
    topology = node.topology or NodeTopology()
    for each in picture_of(node).gpus:
        ends = [one.start + one.size for one in each.segments]
        assert [one.start for one in each.segments] == [0, *ends][: len(ends)]
        drawn = sorted([one.profile for one in each.segments if one.profile] + list(each.unplaced))
        assert drawn == sorted(one.profile for one in topology.mig_instances if one.gpu == each.gpu.index)
        assert all(one.size > 0 for one in each.segments)


@given(nodes("n<&\"'>\x1b"))
def test_every_node_can_be_drawn(node: Node) -> None:
    picture = picture_of(node, use=uses_of([node], [BoundPod(name="<&", node=node.name, **HELD)])[node.name])
    root = ET.fromstring(node_svg(picture))  # noqa: S314 - our own output
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == visible(f"Node {node.name}: {node.transient or 'healthy'}")
    page = node_html(picture)
    assert page.count("<svg") == page.count("<title>Node") == 1
    assert "<&" not in page
    assert "<b>" not in page


@given(CLUSTERS)
def test_every_cluster_can_be_drawn_and_counts_every_node_once(known: list[Node]) -> None:
    picture = overview(known, holdings=Holdings.of(known, ()))
    assert sum(each.count for each in picture.kinds) == len(known) == picture.nodes
    for level in picture.levels:
        assert sum(count for _, count, _ in level.domains) == sum(bool(node.labels.get(level.key)) for node in known)
    assert sorted(placed(picture.tree)) == sorted(node.name for node in known)
    assert sum(each.nodes for each in picture.models) <= len(known)
    for unit in (unit for each in picture.models for unit in each.units):
        assert unit.use is not None
        assert unit.use.used + unit.use.free + unit.out_of_use == unit.amount
    ET.fromstring(cluster_svg(picture))  # noqa: S314 - our own output
    assert "<&" not in cluster_html(picture)


def placed(tree: DomainTree) -> list[str]:
    """Return the names of all nodes in a tree of domains."""
    inner = [name for each in tree.inner for name in placed(each)]
    assert tree.nodes == len(inner) or not tree.inner
    return inner + [name for each in tree.equal for name in each.names]


@given(CLUSTERS, CLUSTERS)
def test_a_difference_is_seen_from_both_sides(before: list[Node], after: list[Node]) -> None:
    there, back = difference(before, after), difference(after, before)
    assert difference(before, before).empty
    assert [name for name, _ in there.added] == [name for name, _ in back.removed]
    assert [each.name for each in there.changed] == [each.name for each in back.changed]
    for one, other in zip(there.changed, back.changed, strict=True):
        turned = [(each.aspect, each.what, each.after, each.before) for each in other.changes]
        assert [(each.aspect, each.what, each.before, each.after) for each in one.changes] == turned
    shown = [name for each in there.by_kind for name in each.names]
    assert sorted(shown) == sorted(
        [*(name for name, _ in (*there.added, *there.removed)), *(each.name for each in there.changed)]
    )
