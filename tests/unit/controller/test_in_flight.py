"""Requests in progress: few at once, and none after the end."""

import asyncio
from collections.abc import Awaitable, Callable

from podberth.admission.notices import Regarding
from podberth.controller.in_flight import AT_ONCE, Sending
from podberth.controller.plan.world import Action, Create, LookUp
from podberth.kube.pod import OwnerReference

ABOUT = Regarding(api_version="v1", kind="Pod", namespace="team", name="pod", uid="p-1")


def look_up(number: int) -> Action:
    return LookUp("team", OwnerReference("batch/v1", "Job", f"job-{number}", str(number)))


def create(number: int) -> Action:
    document = {"metadata": {"namespace": "team", "name": f"gang-{number}"}}
    return Create(kind="podgroups.a", noun="PodGroup", refused="PodGroupRefused", document=document, about=ABOUT)


def play(story: Callable[[Sending, list[Action], asyncio.Event], Awaitable[None]]) -> None:
    async def run() -> None:
        began: list[Action] = []
        answers = asyncio.Event()

        async def send(action: Action) -> None:
            began.append(action)
            await answers.wait()

        await story(Sending(send), began, answers)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


async def turns() -> None:
    """Let every task run as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_few_are_under_way_at_once() -> None:
    async def story(sending: Sending, began: list[Action], answers: asyncio.Event) -> None:
        sending.offer(map(look_up, range(100)))
        await turns()
        assert began == [*map(look_up, range(AT_ONCE))]
        assert sending.is_under_way(look_up(0))
        assert not sending.is_under_way(look_up(AT_ONCE))
        answers.set()
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
        for _ in range(100):
            await turns()
        assert len(began) == 100

    play(story)


def test_a_new_offer_replaces_the_requests_that_have_not_begun() -> None:
    async def story(sending: Sending, began: list[Action], answers: asyncio.Event) -> None:
        sending.offer(map(create, range(50)))
        await turns()
        sending.offer([create(0), create(99)])
        answers.set()
        await turns()
        assert began == [*map(create, range(AT_ONCE)), create(99)]

    play(story)


def test_behind_the_end_nothing_is_under_way_and_nothing_is_sent() -> None:
    async def story(sending: Sending, began: list[Action], answers: asyncio.Event) -> None:
        sending.offer(map(create, range(50)))
        await turns()
        sending.offer(map(create, range(50, 99)))
        ended = sending.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        answers.set()
        await turns()
        assert len(began) == AT_ONCE
        assert not sending.is_under_way(create(0))
        sending.offer([create(0)])
        ended = sending.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        assert len(began) == AT_ONCE

    play(story)


def test_an_answer_that_comes_with_the_end_starts_nothing() -> None:
    async def story(sending: Sending, began: list[Action], answers: asyncio.Event) -> None:
        sending.offer(map(create, range(50)))
        await turns()
        answers.set()
        ended = sending.cancel()
        assert len(ended) == AT_ONCE
        await asyncio.gather(*ended, return_exceptions=True)
        await turns()
        assert len(began) == AT_ONCE

    play(story)
