"""The condition about silent agents: once for each change, after a while, and never in answer to another replica."""

from typing import Any

import pytest

from podberth.admission.snapshot import reads_topology
from podberth.cluster.policy_status import Freshness, status_due
from podberth.files.source import Verdict
from snapshots import policy, snapshot
from unit.cluster.test_policy_status import GOOD, NOW

SETTLES = 120.0


def test_a_state_that_does_not_last_is_no_fact() -> None:
    stale = iter([0, 1] * 10)
    freshness = Freshness(lambda: next(stale), SETTLES)
    for at in range(0, 1200, 60):
        freshness.look(float(at))
        assert freshness.fresh is None


def test_a_fact_stays_until_the_opposite_has_settled() -> None:
    moments = (
        (0, True),
        (119, True),
        (120, True),
        (130, False),
        (240, True),
        (250, False),
        (369, False),
        (370, False),
    )
    fresh, seen = iter([now for _, now in moments]), list[bool | None]()
    freshness = Freshness(lambda: int(not next(fresh)), SETTLES)
    for at, _ in moments:
        freshness.look(float(at))
        seen.append(freshness.fresh)
    assert seen == [None, None, True, True, True, True, True, False]


class Replica:
    """A replica with its own number of silent agents, which writes into an object that all share."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self.stale = 0
        self.writes = 0
        self._shared = shared
        self._freshness = Freshness(lambda: self.stale, SETTLES)
        self._freshness.readers = {"a"}

    def look(self, at: float) -> None:
        self._freshness.look(at)
        due = self._freshness.due(self._shared, GOOD)
        status = status_due(self._shared, GOOD, NOW, again=False, extra=[due] if due else [])
        self._freshness.said(self._shared, GOOD)
        if status is not None:
            self._shared["status"] = status
            self.writes += 1


def shared() -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "u", "generation": GOOD.generation}}


def condition(document: dict[str, Any]) -> str:
    found = {each["type"]: each["status"] for each in document["status"]["conditions"]}
    return str(found.get("TopologyFresh", ""))


def test_replicas_that_hear_at_different_moments_write_once_for_a_turn() -> None:
    document = shared()
    one, other = Replica(document), Replica(document)
    moment = 0.0

    def pass_time(seconds: int) -> None:
        nonlocal moment
        for _ in range(seconds // 10):
            moment += 10
            one.look(moment)
            other.look(moment)

    pass_time(300)
    assert condition(document) == "True"
    before = one.writes + other.writes
    one.stale = 1
    pass_time(60)
    other.stale = 2
    pass_time(300)
    assert condition(document) == "False"
    assert one.writes + other.writes == before + 1
    other.stale = 0  # for good: what it hears no longer differs from nothing
    pass_time(3000)
    assert condition(document) == "True"
    assert one.writes + other.writes == before + 2


@pytest.mark.parametrize("verdict", [Verdict("b", 2, "active", ()), Verdict("a", 2, "broken", (None,))])  # type: ignore[arg-type]
def test_nothing_is_said_about_a_policy_that_asks_for_no_node_or_does_not_compile(verdict: Verdict) -> None:
    freshness = Freshness(lambda: 1, 0.0)
    freshness.readers = {"a"}
    freshness.look(1.0)
    assert freshness.due(shared(), verdict) is None


@pytest.mark.parametrize(
    ("spec", "reads"),
    [
        ("  matchConditions: [{name: c, expression: topology.known}]\n  mutations: [{labels: {a: \"'b'\"}}]", True),
        ("  mutations: [{labels: {example.com/a: string(topology.known)}}]", True),
        ("  validations: [{expression: mig.offered('1g.10gb')}]\n  validationActions: [Warn]", True),
        ("  auditAnnotations: [{key: nodes, valueExpression: string(topology.nodes(gpu).count)}]", True),
        ("  auditAnnotations: [{key: gpus, valueExpression: string(gpu.count)}]", False),
    ],
)
def test_a_policy_asks_for_nodes_in_whichever_part_it_names_them(spec: str, reads: bool) -> None:
    [found] = snapshot(policy("p", spec)).policies
    assert reads_topology(found) is reads
