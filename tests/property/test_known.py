"""The events of a watch lead to the index of a snapshot of the same objects; only changes are passed on."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podberth.conventions import Conventions
from podberth.errors import TopologyError
from podberth.facts.cluster import collect
from podberth.topology.codec import DATA_KEY
from podberth.topology.index import TopologyIndex
from podberth.topology.known import KnownNodes
from podberth.topology.shapes import SHAPES, simulate
from podberth.wellknown import NAMESPACE

Document = dict[str, Any]
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
CONVENTIONS = Conventions()
_NAMES = st.sampled_from(["a", "b", "c"])


def altered(document: Document, change: str) -> Document:
    """Return a topology ConfigMap with something about its GPUs changed."""
    topology = json.loads(document["data"][DATA_KEY])
    gpus = topology["gpus"]
    match change:
        case "sick":
            gpus[-1]["problem"] = "XID 79"
        case "pending":
            gpus[0]["migPending"] = not gpus[0].get("mig", False)
        case "smaller":
            gpus[0]["memoryMiB"] = 1024
        case "linkless":
            topology["links"] = {"shape": "none"}
        case "uncut":
            topology.pop("migInstances", None)
        case "another":
            gpus[0]["uuid"] = "GPU-00000000-0000-0000-0000-000000000000"
        case "lie":
            gpus.append(gpus[0])
        case "text":
            return {**document, "data": {DATA_KEY: "no JSON"}}
        case "alien":
            metadata = {**document["metadata"], "labels": {"podberth.io/topology": "v2"}}
            return {**document, "metadata": metadata}
    return {**document, "data": {DATA_KEY: json.dumps(topology)}}


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Document:
    node, _ = simulate(draw(st.sampled_from(sorted(SHAPES))), name)
    change = draw(st.sampled_from(["", "cordoned", "short", "not ready", "relabelled", "leaving", "broken"]))
    match change:
        case "cordoned":
            node["spec"]["unschedulable"] = True
        case "short":
            node["status"]["allocatable"] |= {"nvidia.com/gpu": "1"}
        case "not ready":
            node["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        case "relabelled":
            node["metadata"]["labels"] |= {"nvidia.com/gfd.timestamp": "1", "zone": "b"}
        case "leaving":
            node["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
        case "broken":
            node["metadata"]["labels"] = ["no labels"]
    return node


CHANGES = ["", "sick", "pending", "smaller", "linkless", "uncut", "another", "lie", "text", "alien"]


@st.composite
def topologies(draw: st.DrawFn, name: str) -> Document:
    _, config_map = simulate(draw(st.sampled_from(sorted(SHAPES))), name)
    return altered(config_map, draw(st.sampled_from(CHANGES)))


class World:
    """A cluster, and what the events of its watch have led to so far."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Document] = {}
        self.known = KnownNodes(CONVENTIONS)
        self.index = TopologyIndex.build((), CONVENTIONS)

    def put(self, kind: str, name: str, document: Document) -> None:
        self.objects[kind, name] = document
        take = self.known.put_node if kind == "node" else self.known.put_topology
        with suppress(TopologyError):
            take(name, document)

    def drop(self, kind: str, name: str) -> None:
        self.objects.pop((kind, name), None)
        (self.known.drop_node if kind == "node" else self.known.drop_topology)(name)

    def beat(self, name: str, *, stale: bool) -> None:
        renewed = "2020-01-01T00:00:00Z" if stale else "2026-01-31T12:00:00Z"
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        metadata = {"name": name, "namespace": NAMESPACE}
        spec = {"renewTime": renewed, "leaseDurationSeconds": 40}
        self.objects["lease", name] = {**lease, "metadata": metadata, "spec": spec}
        self.known.set_stale(name, stale=stale)

    def update(self, most: int) -> None:
        while self.known.changed:
            self.index = self.index.update(*self.known.take_changes(most))

    def built(self) -> TopologyIndex:
        return TopologyIndex.build(collect(self.objects.values(), now=NOW).nodes, CONVENTIONS)


def tables(index: TopologyIndex) -> Any:
    return index._entries, {key: dict(one.members) for key, one in index._classes.items()}


@given(st.data())
def test_after_any_events_the_index_is_the_one_that_would_be_built(data: st.DataObject) -> None:
    world = World()
    for action in data.draw(st.lists(st.sampled_from(["node", "topology", "drop", "beat", "update"]), max_size=25)):
        name = data.draw(_NAMES)
        match action:
            case "node":
                world.put("node", name, data.draw(nodes(name)))
            case "topology":
                world.put("topology", name, data.draw(topologies(name)))
            case "drop":
                world.drop(data.draw(st.sampled_from(["node", "topology"])), name)
            case "beat":
                world.beat(name, stale=data.draw(st.booleans()))
            case "update":
                world.update(data.draw(st.integers(1, 3)))
                assert tables(world.index) == tables(world.built())
    world.update(2)
    assert tables(world.index) == tables(world.built())
    stale = [one.transient for one in collect(world.objects.values(), now=NOW).nodes].count("stale")
    assert world.known.stale_count >= stale
    # Nothing is kept of what is gone.
    for kind, name in list(world.objects):
        world.drop(kind, name)
    world.update(5)
    assert tables(world.index) == ({}, {})
    assert not world.known._shared


@pytest.mark.parametrize("shape", SHAPES)
def test_a_machine_of_each_shape_is_what_it_would_be_built_as(shape: str) -> None:
    world = World()
    node, config_map = simulate(shape, "a")
    world.put("node", "a", node)
    world.put("topology", "a", config_map)
    world.update(5)
    assert tables(world.index) == tables(world.built())


def test_what_the_index_does_not_read_is_no_change() -> None:
    world = World()
    node, config_map = simulate("hgx-h100-8", "a")
    world.put("node", "a", node)
    world.put("topology", "a", config_map)
    world.beat("a", stale=False)
    world.update(5)
    before = world.index
    node["metadata"]["resourceVersion"] = "9"
    node["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-31T12:00:05Z"
    world.put("node", "a", node)
    world.put("topology", "a", altered(config_map, "another"))
    world.beat("a", stale=False)
    assert not world.known.changed
    world.update(5)
    assert world.index is before


def test_machines_of_one_kind_are_kept_once() -> None:
    known = KnownNodes(CONVENTIONS)
    for number in range(20):
        node, config_map = simulate("hgx-h100-8", f"n-{number}")
        known.put_node(f"n-{number}", node)
        known.put_topology(f"n-{number}", config_map)
    assert len({id(filed.kind) for filed in known._nodes.values()}) == 1
    assert len({id(topology) for topology in known._topologies.values()}) == 1


@pytest.mark.parametrize("change", ["lie", "text", "alien"])
def test_a_topology_that_cannot_be_read_leaves_the_node_known_by_its_labels(change: str) -> None:
    world = World()
    node, config_map = simulate("hgx-h100-8", "a")
    world.put("node", "a", node)
    world.put("topology", "a", config_map)
    with pytest.raises(TopologyError, match=r"^ConfigMap a: "):
        world.known.put_topology("a", altered(config_map, change))
    world.update(5)
    alone = TopologyIndex.build(collect([node], now=NOW).nodes, CONVENTIONS)
    assert tables(world.index) == tables(alone)


def test_orphans_are_topologies_of_nodes_that_are_not_there() -> None:
    world = World()
    world.put("topology", "a", simulate("l4-1", "a")[1])
    assert world.known.orphans() == {"a"}
    world.put("node", "a", simulate("l4-1", "a")[0])
    assert world.known.orphans() == set()
