"""Waiting: what is returned, and what is said in vain."""

import asyncio
import itertools

import pytest

from .wait import until, wait_for


def test_returns_the_first_truthy_value() -> None:
    values = iter([None, "", "there"])
    assert wait_for(lambda: next(values), timeout_seconds=5, what="a value") == "there"


def test_asks_once_even_without_time() -> None:
    assert wait_for(lambda: 7, timeout_seconds=0, what="seven") == 7


def test_says_what_it_waited_for() -> None:
    with pytest.raises(TimeoutError, match=r"waited 0\.05 s in vain for the moon"):
        wait_for(lambda: False, timeout_seconds=0.05, what="the moon")


def test_says_what_was_there_at_the_end() -> None:
    count = itertools.count()
    with pytest.raises(TimeoutError, match=r"3 pods, not [1-9]"):
        wait_for(lambda: next(count) < 0, timeout_seconds=0.05, what=lambda: f"3 pods, not {next(count)}")


def test_looks_are_ever_rarer() -> None:
    looks = itertools.count()
    with pytest.raises(TimeoutError):
        wait_for(lambda: next(looks) < 0, timeout_seconds=1.0, what="the moon")
    assert next(looks) < 35  # every 20 ms they would be 50


def test_other_tasks_go_on_meanwhile() -> None:
    async def scene() -> None:
        arrived = asyncio.Event()
        asyncio.get_running_loop().call_soon(arrived.set)
        await until(arrived.is_set, what="the event")
        with pytest.raises(TimeoutError, match=r"waited 0\.05 s in vain for the moon"):
            await until(lambda: False, patience_seconds=0.05, what="the moon")

    asyncio.run(scene())
