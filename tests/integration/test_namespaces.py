"""The first pod of a Namespace that podberth has not heard of waits for it, if some policy asks, and not for ever."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod, review
from integration.serving import Answer, Serving, post, run, serving, until
from podberth.admission import decide
from podberth.admission.snapshot import Snapshot
from podberth.server import handler
from snapshots import policy, snapshot

READS = "  mutations:\n  - annotations: {team: namespaceObject.metadata.name}"
SELECTS = """
  matchConstraints: {namespaceSelector: {matchExpressions: [{key: x, operator: DoesNotExist}]}}
  mutations:
  - annotations: {team: "'any'"}
"""
PLAIN = """
  mutations:
  - annotations: {team: "'any'"}
"""
TEAM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
REVIEW = post(json.dumps(review(gpu_pod(1), namespace="team")).encode())


def of(spec: str) -> Snapshot:
    return snapshot(policy("p", spec))


def learn(server: Serving, *names: str) -> None:
    """Take in Namespaces as the watch brings them."""
    known = server.state.snapshot
    assert known is not None
    more = {name: {**TEAM, "metadata": {"name": name}} for name in names}
    server.state.snapshot = known.with_objects({**known.namespaces, **more}, {})
    server.state.tell_namespaces()


def allowed(answer: Answer) -> bool:
    found: dict[str, Any] = answer.document["response"]
    return bool(found["allowed"] and "patch" in found)


@pytest.mark.parametrize("spec", [READS, SELECTS])
def test_a_review_waits_until_its_namespace_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    # Whenever the Namespace comes, before the review looks or while it waits, the answer is the same.
    monkeypatch.setattr(handler, "NAMESPACE_SECONDS", 30.0)

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.namespaces_followed = of(spec), True
            asked = asyncio.create_task(server.ask(REVIEW.replace(b"/mutate ", b"/mutate?timeout=30s ")))
            await until("the review", _is(lambda: server.state.in_flight == 1))
            learn(server, "other")
            assert not asked.done()
            learn(server, "team")
            assert allowed(await asked)

    run(test)


def test_one_that_never_comes_is_an_error_of_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "NAMESPACE_SECONDS", 0.01)

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.namespaces_followed = of(READS), True
            answer = await server.ask(REVIEW)
            assert "namespace 'team' is not known" in str(answer.document["response"])

    run(test)


@pytest.mark.parametrize(("spec", "followed"), [(PLAIN, True), (READS, False)])
def test_nobody_waits_where_nobody_asks_or_none_can_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, *, followed: bool
) -> None:
    async def never(*_: object) -> None:
        raise AssertionError("it waits")

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.namespaces_followed = of(spec), followed
            monkeypatch.setattr(type(server.state), "wait_for_namespace", never)
            assert (await server.ask(REVIEW)).status == 200

    run(test)


def _is(reached: Any) -> Any:
    async def ask() -> bool:
        return bool(reached())

    return ask
