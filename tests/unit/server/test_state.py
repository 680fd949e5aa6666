from typing import Any

from exceptions import BEFORE, END, exception
from podberth.server.state import ServingState
from snapshots import policy, snapshot


def test_every_reason_not_to_be_ready_is_reported() -> None:
    assert ServingState(draining=True, unlisted=lambda: ["nodes", "leases"]).unready() == [
        "policies and topology are not loaded",
        "nodes of the cluster are not listed",
        "leases of the cluster are not listed",
        "the certificate is not loaded",
        "the port is not open",
        "draining",
    ]


def test_ready_is_all_of_it() -> None:
    snapshot: Any = object()
    assert ServingState(snapshot=snapshot, certificate=True, listening=True).unready() == []


def test_the_snapshot_follows_the_clock_without_a_reload() -> None:
    known = snapshot(policy("a", "  mutations: [{labels: {a: gang.name}}]"), exception("e", "a"))
    times = [BEFORE, BEFORE, END]
    state = ServingState(snapshot=known, clock=lambda: times.pop(0))
    first = state.present()
    assert first is not None
    assert [each.name for each in first.in_force["default"]] == ["e"]
    assert state.present() is first
    ended = state.present()
    assert ended is not None
    assert ended.in_force == {}
    assert state.snapshot is ended
    assert ServingState().present() is None
