"""The first pod of an unknown Namespace or Job waits for that object, with a limit."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod, job_pod, review
from integration.serving import Answer, Serving, post, run, serving, until
from podberth.admission import decide
from podberth.admission.awaited import Awaited
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.facts.cluster import ClusterFacts
from podberth.port.byte_budget import MemoryBudget
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
SIZE = "  mutations:\n  - annotations: {size: string(gang.size)}"
TEAM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
REVIEW = post(json.dumps(review(gpu_pod(1), namespace="team")).encode())
AWAITED = Awaited(lambda group, kind, uid: (group, kind) == ("batch", "Job") and uid != "left-out")


def of(spec: str) -> Snapshot:
    return snapshot(policy("p", spec))


def learn(server: Serving, *names: str) -> None:
    """Deliver Namespaces as the watch does."""
    known = server.state.snapshot
    assert known is not None
    more = {name: {**TEAM, "metadata": {"name": name}} for name in names}
    server.state.snapshot = known.with_objects({**known.facts.namespaces, **more}, {})
    server.state.wake_waiting()


def allowed(answer: Answer) -> bool:
    found: dict[str, Any] = answer.document["response"]
    return bool(found["allowed"] and "patch" in found)


def test_a_review_that_waits_holds_its_bytes_and_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "PATIENCE_SECONDS", 30.0)

    async def test() -> None:
        budget = MemoryBudget()
        async with serving(tmp_path, decide.mutate, budget=budget) as server:
            server.state.snapshot, server.state.awaited = of(READS), AWAITED
            asked = asyncio.create_task(server.ask(REVIEW.replace(b"/mutate ", b"/mutate?timeout=30s ")))
            await until("it waits", _is(lambda: budget.used["bodies"] and not budget.used["documents"]))
            assert budget.used["bodies"] == len(REVIEW.partition(b"\r\n\r\n")[2])
            learn(server, "team")
            assert allowed(await asked)
            assert (budget.used["bodies"], budget.used["documents"]) == (0, 0)

    run(test)


@pytest.mark.parametrize("spec", [READS, SELECTS])
def test_a_review_waits_until_its_namespace_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    # Whenever the Namespace comes, before the review looks or while it waits, the answer is the same.
    monkeypatch.setattr(handler, "PATIENCE_SECONDS", 30.0)

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.awaited = of(spec), AWAITED
            asked = asyncio.create_task(server.ask(REVIEW.replace(b"/mutate ", b"/mutate?timeout=30s ")))
            await until("the review", _is(lambda: server.state.in_flight == 1))
            learn(server, "other")
            assert not asked.done()
            learn(server, "team")
            assert allowed(await asked)

    run(test)


def test_an_object_that_never_comes_is_an_error_of_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "PATIENCE_SECONDS", 0.01)

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.awaited = of(READS), AWAITED
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
            server.state.snapshot, server.state.awaited = of(spec), AWAITED if followed else None
            monkeypatch.setattr(type(server.state), "wait_for", never)
            assert (await server.ask(REVIEW)).status == 200

    run(test)


def size(answer: Answer) -> str:
    """Return the annotation that the policy has written."""
    patch = json.loads(base64.b64decode(answer.document["response"]["patch"]))
    [value] = [each["value"] for each in patch if each["path"] == "/metadata/annotations/size"]
    return str(value)


def job_known(server: Serving) -> None:
    known = server.state.snapshot
    assert known is not None
    spec = {"parallelism": 4, "completions": 4}
    metadata = {"name": "train", "namespace": "default", "uid": "job-uid"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    server.state.snapshot = known.with_workloads(ClusterFacts().fold(owner))
    server.state.wake_waiting()


def test_the_first_pod_of_a_job_waits_until_that_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "PATIENCE_SECONDS", 30.0)

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.awaited = of(SIZE), AWAITED
            first = post(json.dumps(review(job_pod())).encode(), "/mutate?timeout=30s")
            asked = asyncio.create_task(server.ask(first))
            await until("the review", _is(lambda: server.state.in_flight == 1))
            job_known(server)
            assert size(await asked) == "4"

    run(test)


def test_nobody_waits_for_a_job_that_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        raise AssertionError("it waits")

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.awaited = of(SIZE), AWAITED
            monkeypatch.setattr(type(server.state), "wait_for", never)
            answer = await server.ask(post(json.dumps(review(job_pod(uid="left-out"))).encode()))
            assert size(answer) == "0"

    run(test)


def test_a_job_that_never_comes_leaves_the_size_unknown_and_denies_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "PATIENCE_SECONDS", 0.01)

    async def test() -> None:
        async with serving(tmp_path, decide.mutate) as server:
            server.state.snapshot, server.state.awaited = of(SIZE), AWAITED
            answer = await server.ask(post(json.dumps(review(job_pod())).encode()))
            assert allowed(answer)
            assert size(answer) == "0"

    run(test)


@pytest.mark.parametrize(
    "references",
    [
        None,
        3,
        [],
        [None, 3, {"controller": True}],
        [{"controller": True, "uid": 3, "kind": "Job", "apiVersion": "batch/v1"}],
        [{"controller": False, "uid": "x", "kind": "Job", "apiVersion": "batch/v1"}],
        [{"controller": True, "uid": "x", "kind": "ReplicaSet", "apiVersion": "apps/v1"}],
    ],
)
def test_nobody_waits_for_an_owner_that_is_none_or_that_nobody_follows(references: Any) -> None:
    document = gpu_pod(1)
    document["metadata"]["ownerReferences"] = references
    assert not AWAITED(decode_review(review(document)), of(PLAIN))


def test_only_a_new_pod_waits_for_its_owner() -> None:
    known = of(PLAIN)
    assert AWAITED(decode_review(review(job_pod())), known)
    assert not AWAITED(decode_review(review(job_pod(), "UPDATE", old=job_pod())), known)


def _is(reached: Any) -> Any:
    async def ask() -> bool:
        return bool(reached())

    return ask
