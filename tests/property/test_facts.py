"""Facts are those of the objects as they are now, whichever way they came: in any order, by file, by watch."""

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integration.serving import CapturedLines
from podberth.cluster.workloads import LiveWorkloads
from podberth.facts.cluster import ClusterFacts, collect
from podberth.facts.object_kinds import FOLLOWED, KINDS, kinds_of
from podberth.facts.table import PersistentMap
from podberth.telemetry.log import Log
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL

JSON = dict[str, Any]
VIEWS = (
    "nodes",
    "problems",
    "namespaces",
    "config_maps",
    "pod_groups",
    "native_groups",
    "served_groups",
    "queues",
    "owners",
    "class_resources",
    "devices",
    "default_priority_class",
    "priority_classes",
)
_NODE, _TOPOLOGY = simulate("l4-1", "a")
_REQUEST = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}
_NICS = {"selectors": [{"cel": {"expression": "device.driver == 'nic.example.com'"}}]}
_GPUS = {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}
_PARTS = {"pytorchReplicaSpecs": {f"r{number}": {"replicas": 1} for number in range(300)}}
_DONE = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
_GROUPS = ("scheduling.k8s.io/v1beta1", "scheduling.volcano.sh/v1beta1", "scheduling.run.ai/v2alpha2")
_LEASE: JSON = {"spec": {"renewTime": "2026-01-31T11:00:00Z", "leaseDurationSeconds": 40}}


def states(version: str, kind: str, *bodies: JSON) -> list[JSON]:
    """Return the states that objects of a kind may be in."""
    return [{"apiVersion": version, "kind": kind, **body} for body in bodies]


STATES = [
    *states("v1", "Node", _NODE, {"status": {}}, {"spec": []}),
    *states("v1", "ConfigMap", _TOPOLOGY, {"data": {"a": "1"}}, {**_TOPOLOGY, "data": {}}),
    *states("coordination.k8s.io/v1", "Lease", {}, _LEASE),
    *states("v1", "Namespace", {}, {"spec": {}}),
    *states("scheduling.k8s.io/v1", "PriorityClass", {}, *({"globalDefault": True, "value": each} for each in (1, 2))),
    *states("resource.k8s.io/v1", "DeviceClass", {}, {"spec": _NICS}),
    *states("resource.k8s.io/v1", "DeviceClass", {"spec": {"extendedResourceName": "example.com/gpu", **_GPUS}}),
    *states("resource.k8s.io/v1", "ResourceClaim", {"spec": _REQUEST}, {"spec": {}}),
    *states("resource.k8s.io/v1", "ResourceClaimTemplate", {"spec": {"spec": _REQUEST}}, {}),
    *states(
        "resource.nvidia.com/v1beta1",
        "ComputeDomain",
        {},
        *(
            {"spec": {"channel": {"resourceClaimTemplate": {"name": "a"}, "allocationMode": each}}}
            for each in ("All", "")
        ),
    ),
    *(
        each
        for group in _GROUPS
        for each in states(group, "PodGroup", {}, *({"spec": {"minMember": n}} for n in (1, 2)))
    ),
    *states("scheduling.k8s.io/v1beta1", "PodGroup", {"spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}}),
    *states("kueue.x-k8s.io/v1beta2", "LocalQueue", {"spec": {"clusterQueue": "a"}}, {}),
    *states("scheduling.volcano.sh/v1beta1", "Queue", {}, {"status": {"state": "Closed"}}),
    *states("batch/v1", "Job", {"spec": {"parallelism": 4}}, _DONE, {"spec": {"parallelism": 8}}),
    *states("kubeflow.org/v1", "PyTorchJob", {"spec": {}}, {"spec": _PARTS}),
    *states("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"spec": {"executor": {"instances": 2}}}),
    *states("v1", "Pod", {}),
]


@st.composite
def objects(draw: st.DrawFn) -> JSON:
    """Draw an object; one that owns pods may say the uid of another."""
    state = draw(st.sampled_from(STATES))
    labels = state.get("metadata", {}).get("labels", {})
    space = NAMESPACE if TOPOLOGY_LABEL in labels else draw(st.sampled_from(["team", NAMESPACE, "other"]))
    metadata = {"name": draw(st.sampled_from("abc")), "namespace": space, "uid": draw(st.sampled_from(["u-1", "u-2"]))}
    return {**state, "metadata": {**metadata, "labels": labels}}


def identity(document: JSON) -> tuple[Any, ...]:
    kinds = kinds_of(document)
    return (kinds[0], kinds[0].place(document)) if kinds else (document["kind"],)


def without(facts: ClusterFacts, document: JSON) -> ClusterFacts:
    """Return the facts without a deleted object."""
    gone = [(kind, place) for kind in kinds_of(document) if (place := kind.place(document)) is not None]
    tables = {kind: facts.tables[kind].changed(kind, {place: None}) for kind, place in gone if kind in facts.tables}
    unusable = {key: reason for key, reason in facts.unusable.items() if key not in gone}
    return facts.with_tables(tables, unusable=unusable)


EVENTS = st.lists(st.tuples(st.booleans(), objects()), max_size=25)


@given(EVENTS, st.randoms(use_true_random=False), st.sampled_from(VIEWS))
def test_folding_in_any_order_with_any_changes_between_is_folding_the_last_state(
    events: list[tuple[bool, JSON]], chance: Any, asked: str
) -> None:
    facts, last = ClusterFacts(), dict[tuple[Any, ...], JSON]()
    for gone, document in events:
        facts = without(facts, document) if gone else facts.fold(document)
        getattr(facts, asked)  # an answer that was computed between must not outlive a change
        last.pop(identity(document), None)
        if not gone:
            last[identity(document)] = document
    shuffled = list(last.values())
    chance.shuffle(shuffled)
    found = ClusterFacts().fold(*shuffled)
    assert facts == found
    assert {each: getattr(facts, each) for each in VIEWS} == {each: getattr(found, each) for each in VIEWS}
    assert reduce(without, shuffled, facts) == ClusterFacts()


@given(EVENTS)
def test_a_watch_makes_the_facts_that_a_file_of_the_same_objects_makes(events: list[tuple[bool, JSON]]) -> None:
    live, last = LiveWorkloads(FOLLOWED, lambda _: None, Log(CapturedLines())), dict[tuple[Any, ...], JSON]()
    for gone, document in events:
        for kind in kinds_of(document):
            if kind in FOLLOWED:
                metadata = document["metadata"]
                name = metadata["name"] if kind.of_cluster else f"{metadata['namespace']}/{metadata['name']}"
                last.pop(identity(document), None)
                if gone:
                    live.sinks[kind].drop(name)
                else:
                    live.sinks[kind].put(name, {key: document[key] for key in document.keys() - {"apiVersion", "kind"}})
                    last[identity(document)] = document
    watched, read = live.facts(), collect(last.values(), now=None)
    assert watched.tables == read.tables
    for view in ("pod_groups", "native_groups", "owners", "class_resources", "devices"):
        assert getattr(watched, view) == getattr(read, view)
    assert watched.default_priority_class == read.default_priority_class


@pytest.mark.parametrize("role", sorted({kind.role for kind in KINDS} - {"discovery", "heartbeat", "topology"}))
def test_every_role_is_drawn(role: str) -> None:
    assert any(kind.role == role for each in STATES for kind in kinds_of(each))


def test_one_changed_object_changes_the_table_of_its_kind_alone() -> None:
    facts = ClusterFacts().fold(*({**each, "metadata": {"name": "a", "uid": "u"}} for each in STATES))
    before = {view: getattr(facts, view) for view in ("owners", "pod_groups", "native_groups")}
    after = facts.fold({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "z"}})
    changed = [kind.role for kind in KINDS if after.tables.get(kind) is not facts.tables.get(kind)]
    assert changed == ["priority class"]
    assert all(getattr(after, view) is before[view] for view in before)


_KEYS = st.integers(0, 600)  # more than there are parts
_CHANGES = st.dictionaries(_KEYS, st.none() | st.integers())


@given(st.lists(_CHANGES, max_size=5))
def test_a_persistent_map_is_the_dict_with_the_same_changes(batches: list[dict[int, int | None]]) -> None:
    found, expected = PersistentMap(), dict[int, int]()
    for changes in batches:
        before, held = found, dict(expected)
        found = found.changed(changes)
        for key, value in changes.items():
            expected.pop(key, None)
            expected |= {} if value is None else {key: value}
        assert (dict(found), len(found), bool(found)) == (expected, len(expected), bool(expected))
        assert dict(before) == held
        keys = held.keys() | expected.keys()
        assert all((found.get(key), key in found) == (expected.get(key), key in expected) for key in keys)
