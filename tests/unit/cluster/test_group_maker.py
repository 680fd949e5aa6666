"""Whether podberth's controller runs, by its Lease."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.wait import PATIENCE_SECONDS
from podberth.cluster.group_maker import GroupMaker

NAME = "podberth-controller"


def lease(*, age_seconds: float = 0.0, lasts_seconds: int = 15) -> dict[str, Any]:
    """Return the Lease as a leader has renewed it."""
    renewed = datetime.now(UTC) - timedelta(seconds=age_seconds)
    spec = {"holderIdentity": "a", "leaseDurationSeconds": lasts_seconds, "renewTime": renewed.isoformat()}
    return {"metadata": {"name": NAME}, "spec": spec}


async def followed(test: Callable[[GroupMaker, asyncio.Event], Any]) -> None:
    changed = asyncio.Event()
    maker = GroupMaker(changed.set)
    task = asyncio.create_task(maker.hand_on())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await test(maker, changed)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_nothing_is_known_before_the_lease_is_listed() -> None:
    assert not GroupMaker(lambda: None).is_away


def test_without_a_lease_it_is_away_until_a_controller_has_taken_it_and_again_when_it_is_gone() -> None:
    async def test(maker: GroupMaker, changed: asyncio.Event) -> None:
        for act, away in ((None, True), (maker.put, False), (maker.drop, True)):
            if act == maker.put:
                maker.put(NAME, lease())
            elif act is not None:
                maker.drop(NAME)
            await changed.wait()
            changed.clear()
            assert maker.is_away is away

    asyncio.run(followed(test))


def test_a_lease_that_is_given_back_is_nobodys() -> None:
    async def test(maker: GroupMaker, changed: asyncio.Event) -> None:
        await changed.wait()
        for holder, away in (("a", False), ("", True)):
            changed.clear()
            document = lease()
            document["spec"]["holderIdentity"] = holder
            maker.put(NAME, document)
            await changed.wait()
            assert maker.is_away is away

    asyncio.run(followed(test))


def test_a_lease_that_is_not_renewed_is_held_until_a_broken_watch_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("podberth.cluster.group_maker._LOOK_SECONDS", 0.02)

    async def test(maker: GroupMaker, changed: asyncio.Event) -> None:
        await changed.wait()
        changed.clear()
        maker.put(NAME, lease(age_seconds=14.99))
        await changed.wait()
        assert not maker.is_away
        changed.clear()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(changed.wait(), 0.3)

    asyncio.run(followed(test))


def test_a_lease_that_has_expired_or_says_nothing_is_nobodys() -> None:
    async def test(maker: GroupMaker, changed: asyncio.Event) -> None:
        await changed.wait()
        for each in (lease(age_seconds=60.0), {"metadata": {"name": NAME}, "spec": {"holderIdentity": "a"}}):
            changed.clear()
            maker.put(NAME, lease())
            await changed.wait()
            assert not maker.is_away
            maker.drop(NAME)
            maker.put(NAME, each)
            changed.clear()
            await changed.wait()
            assert maker.is_away

    asyncio.run(followed(test))
