"""Whatever Pods a snapshot has, in whatever order: used and free devices are together the allocatable ones."""

from hypothesis import given
from hypothesis import strategies as st

from builders import JSON, container, gpu_container, pod
from node_builders import GPU, machines, node_manifest
from podberth.facts.with_holdings import collect_with_holdings
from podberth.topology.holdings import Tally
from topology_scenes import as_list

RESOURCES = [GPU, "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb", "amd.com/gpu"]
NODES = ["a", "b", "hgx-h100-8-0", "gone", ""]
AMOUNTS = st.integers(0, 9) | st.sampled_from(["3", "500m", "-4", "many", "1e20", None])
CLAIM = {"name": "gpu", "resourceClaimTemplateName": "one"}


@st.composite
def pods(draw: st.DrawFn) -> list[JSON]:
    """Draw Pods, some of them as no API server has them, each with a name of its own."""
    resource = st.sampled_from(RESOURCES)
    found = []
    for number in range(draw(st.integers(0, 8))):
        main = gpu_container(gpus=draw(AMOUNTS), resource=draw(resource))
        early = container("early", requests={draw(resource): draw(AMOUNTS)})
        claims = [CLAIM] * draw(st.integers(0, 1))
        made = pod(main, name=f"p{number}", init=[early], nodeName=draw(st.sampled_from(NODES)), resourceClaims=claims)
        phase = draw(st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", None, 7]))
        found.append(made | {"status": {"phase": phase}})
    return found


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[JSON], list[JSON]]:
    """Draw a snapshot with Pods, and the same objects in another order, partly in lists."""
    nodes = [*machines("hgx-h100-8", 1)]
    for name in ("a", "b"):
        devices = {each: str(draw(st.integers(0, 9))) for each in RESOURCES}
        nodes.append(node_manifest(name, devices=devices, capacity=dict.fromkeys(RESOURCES, "8")))
    every = [*nodes, *draw(pods()), pod(name="always", nodeName="a")]
    other = draw(st.permutations(every))
    cut = draw(st.integers(0, len(other)))
    return [*every], [as_list(other[:cut]), *other[cut:]]


@given(documents())
def test_used_and_free_are_what_is_allocatable_in_any_order(drawn: tuple[list[JSON], list[JSON]]) -> None:
    (facts, found), (_, other) = (collect_with_holdings(each, now=None) for each in drawn)
    assert found is not None
    assert found == other
    assert facts.problems == ()
    for node in facts.nodes:
        use = found.nodes[node.name]
        assert {each.resource: each.used + each.free for each in use.devices} == {
            name: node.allocatable.get(name, 0) for name in node.allocatable.keys() | node.capacity.keys()
        }
        for each in use.devices:
            assert min(each.used, each.free) >= 0
            assert each.used <= each.held == sum(holder.units for holder in each.holders)
            assert all(holder.units > 0 for holder in each.holders)
        if use.linked is not None:
            assert 0 <= use.linked.least <= use.linked.most <= use.free_of(GPU)
    total = Tally.of(found.nodes.values())
    devices = [each for use in found.nodes.values() for each in use.accelerators]
    assert total.used + total.free + total.free_unhealthy == sum(each.allocatable for each in devices)
    assert total.most <= total.free


def test_without_pods_nothing_is_known_of_what_is_free() -> None:
    assert collect_with_holdings(machines("hgx-h100-8", 1), now=None)[1] is None
