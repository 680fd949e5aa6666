"""Policies are judged in a thread: one at a time, few wait, and a cancelled caller ends the work."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from builders import gpu_pod, review
from calls import calls_of
from controlplane.wait import until
from podberth.admission import response
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.cel.engine import Environment, Late
from podberth.errors import ReviewError
from podberth.server.judge import MOST_AT_ONCE, PolicyJudge
from snapshots import snapshot

REVIEW = decode_review(review(gpu_pod()))
SNAPSHOT = snapshot()


class Validation:
    """Takes until it may continue, or until it is late."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.threads: list[int] = []
        self.environments: list[Environment] = []
        self.at_once: list[int] = []
        self.late = 0
        self._running = 0

    def __call__(self, request: AdmissionRequest, environment: Environment, late: Late) -> Outcome:
        self._running += 1
        self.at_once.append(self._running)
        self.threads.append(threading.get_ident())
        self.environments.append(environment)
        while not self.go.wait(0.001) and not late():
            pass
        self.late += late()
        self._running -= 1
        return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])


def run(body: Callable[[PolicyJudge, Validation], Awaitable[None]]) -> Validation:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await body(PolicyJudge(validation), validation)

    validation = Validation()
    asyncio.run(bounded())
    return validation


def test_a_policy_is_judged_in_another_thread_with_an_environment_of_its_own() -> None:
    async def body(judge: PolicyJudge, validation: Validation) -> None:
        validation.go.set()
        for _ in range(2):
            assert (await judge(REVIEW, SNAPSHOT)).verdict == "allowed"

    found = run(body)
    assert threading.get_ident() not in found.threads
    assert len(set(found.threads)) == 1
    assert found.environments[0] is found.environments[1]
    assert found.environments[0] is not SNAPSHOT.environment


def test_the_names_of_an_exception_are_compared_in_the_thread_and_only_within_its_bounds() -> None:
    stored = {"metadata": {"name": "e"}, "spec": {"policies": [f"p{at}" for at in range(200_000)]}}
    kind = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicyException"}
    resource = {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicyexceptions"}
    asked = decode_review(review(stored, kind=kind, resource=resource))

    async def body() -> None:
        judge = PolicyJudge()
        started: list[Awaitable[Outcome]] = []
        assert calls_of(lambda: started.append(judge(asked, SNAPSHOT))) < 1_000
        assert "got more than" in (await started[0]).denial

    asyncio.run(body())


def test_the_loop_goes_on_while_one_is_judged_and_the_others_wait_their_turn() -> None:
    async def body(judge: PolicyJudge, validation: Validation) -> None:
        asked = [asyncio.ensure_future(judge(REVIEW, SNAPSHOT)) for _ in range(MOST_AT_ONCE)]
        await until(lambda: validation.threads, what="the thread gets there")
        await asyncio.sleep(0)
        assert not any(each.done() for each in asked)
        validation.go.set()
        assert {each.verdict for each in await asyncio.gather(*asked)} == {"allowed"}

    assert set(run(body).at_once) == {1}


def test_a_policy_beyond_the_queue_is_refused_until_another_is_judged() -> None:
    async def body(judge: PolicyJudge, validation: Validation) -> None:
        asked = [asyncio.ensure_future(judge(REVIEW, SNAPSHOT)) for _ in range(MOST_AT_ONCE)]
        await until(lambda: validation.threads, what="the thread gets there")
        with pytest.raises(ReviewError, match="4 policies are being judged or wait for it") as raised:
            await judge(REVIEW, SNAPSHOT)
        assert raised.value.status == 503
        validation.go.set()
        await asyncio.gather(*asked)
        assert (await judge(REVIEW, SNAPSHOT)).verdict == "allowed"

    run(body)


def test_a_cancelled_caller_ends_the_work_and_frees_its_place_at_the_end() -> None:
    async def body(judge: PolicyJudge, validation: Validation) -> None:
        left: list[asyncio.Future[Any]] = []
        for _ in range(2 * MOST_AT_ONCE):
            left.append(asyncio.ensure_future(judge(REVIEW, SNAPSHOT)))
            await until(lambda: len(validation.threads) == len(left), what="the policy is being judged")
            left[-1].cancel()
            await until(lambda: validation.late == len(left), what="the work has ended")
        assert all(each.cancelled() for each in left)

    assert set(run(body).at_once) == {1}


def test_a_policy_that_waits_and_is_abandoned_keeps_its_place_until_the_thread_has_let_go_of_it() -> None:
    async def body(judge: PolicyJudge, validation: Validation) -> None:
        judging = judge(REVIEW, SNAPSHOT)
        await until(lambda: validation.threads, what="the thread gets there")
        waiting = [judge(REVIEW, SNAPSHOT) for _ in range(MOST_AT_ONCE - 1)]
        ended: list[int] = []
        for number, each in enumerate(waiting):
            each.when_ended(partial(ended.append, number))
            task = asyncio.ensure_future(each)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
        with pytest.raises(ReviewError, match="4 policies are being judged or wait for it"):
            judge(REVIEW, SNAPSHOT)
        assert ended == []
        validation.go.set()
        assert (await judging).verdict == "allowed"
        await until(lambda: ended == [0, 1, 2], what="the thread has let go of all")

    assert len(run(body).threads) == 1


def own_review() -> AdmissionRequest:
    kind = {"group": "podberth.io", "version": "v1alpha1", "kind": "NamespacedGPUPolicy"}
    resource = {"group": "podberth.io", "version": "v1alpha1", "resource": "namespacedgpupolicies"}
    return decode_review(review({"metadata": {"name": "own", "namespace": "vision"}}, kind=kind, resource=resource))


def test_policies_of_namespaces_take_no_place_from_those_of_the_cluster() -> None:
    of_namespace = own_review()

    async def body(judge: PolicyJudge, validation: Validation) -> None:
        waiting = [asyncio.ensure_future(judge(of_namespace, SNAPSHOT)) for _ in range(MOST_AT_ONCE)]
        with pytest.raises(ReviewError):
            judge(of_namespace, SNAPSHOT)
        started = asyncio.ensure_future(judge(REVIEW, SNAPSHOT))
        validation.go.set()
        assert {each.verdict for each in await asyncio.gather(started, *waiting)} == {"allowed"}

    assert len(set(run(body).threads)) == 2


@pytest.mark.parametrize(("asked", "rests"), [(own_review(), 9), (REVIEW, 0)], ids=["namespace", "cluster"])
def test_who_asks_without_end_about_policies_of_a_namespace_gets_a_tenth_of_a_processor(
    asked: AdmissionRequest, rests: int
) -> None:
    """The policies use the processor; between the end of one and the start of the next, nine times as long passes."""
    spans: list[tuple[float, float, float]] = []

    def judge_busily(request: AdmissionRequest, _: Environment, __: Late) -> Outcome:
        began, used = time.monotonic(), time.thread_time()
        while time.thread_time() - used < 0.01:
            pass
        spans.append((began, time.monotonic(), time.thread_time() - used))
        return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])

    async def body() -> None:
        judge = PolicyJudge(judge_busily)
        await asyncio.gather(*(judge(asked, SNAPSHOT) for _ in range(3)))

    asyncio.run(body())
    pauses = [after[0] - before[1] for before, after in pairwise(spans)]
    assert all(pause >= rests * took for pause, (_, _, took) in zip(pauses, spans, strict=False))


def test_a_rest_ends_for_whoever_does_not_wait_any_more() -> None:
    async def body(judge: PolicyJudge, validation: Validation) -> None:
        validation.go.set()
        await judge(own_review(), SNAPSHOT)
        judge._of_namespaces.rests_until = time.monotonic() + 3_600
        judging = judge(own_review(), SNAPSHOT)
        ended: list[None] = []
        judging.when_ended(lambda: ended.append(None))
        task = asyncio.ensure_future(judging)
        await asyncio.sleep(0)
        task.cancel()
        await until(lambda: ended, what="the place is free")

    assert len(run(body).threads) == 1
