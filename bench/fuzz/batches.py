"""Runs batches, in this process or in several, and counts them in their order."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from random import Random
from time import monotonic
from typing import Final

import uvloop

from podberth.cli.serve import DECIDERS
from podberth.server.state import Deciders

from .port import Answer, served
from .stage import CountingRecall, Stage
from .stories import Batch, Case
from .tally import Tally
from .worlds import WORLDS, compiled, forgetful

CASES: Final = 250
"""Of a batch."""
_WAITING: Final = 3
"""Batches for each process that are under way or wait."""

Show = Callable[[str, bytes, Answer], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What of a batch is played, and by whom it is answered."""

    cases: int = CASES
    """So many, from the first on."""
    show: Show | None = None
    """Is shown all reviews of the last of them."""
    deciders: Deciders = field(default_factory=dict)
    """In the place of those of ``podberth serve``, by path."""


def run(seed: int, number: int, part: Part = Part()) -> Tally:
    """Play a batch."""
    return uvloop.run(_run(seed, number, part))


async def _run(seed: int, number: int, part: Part) -> Tally:
    snapshot = forgetful(compiled(WORLDS[number % len(WORLDS)]))
    recall = CountingRecall()
    object.__setattr__(snapshot, "recall", recall)
    batch = Batch.of(Random(f"{seed} {number}"))  # noqa: S311 - the same in every run
    stage = Stage(snapshot, Tally())
    async with served(snapshot, stage.watched({**DECIDERS, **part.deciders})) as stage.served:
        cases = range(number * CASES, number * CASES + part.cases)
        for case in cases:
            stage.case = case
            stage.show = part.show if case == cases[-1] else None
            try:
                await Case(stage, batch, Random(f"{seed} {number} {case}")).play()  # noqa: S311
            except Exception as error:
                error.add_note(f"a fault of the fuzz, in --seed {seed} --only {case}")
                raise
            stage.tally.cases += 1
    await asyncio.sleep(0)
    stage.tally.remembered = recall.remembered
    return stage.tally


def results(seed: int, first: int, jobs: int, part: Part = Part()) -> Iterator[Tally]:
    """Yield what the batches from ``first`` on are counted as, in their order, until nobody wants more."""
    if jobs == 1:
        yield from (run(seed, number, part) for number in count(first))
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: list[Future[Tally]] = []
        try:
            for number in count(first):
                waiting.append(pool.submit(run, seed, number, part))
                if len(waiting) >= jobs * _WAITING:
                    yield waiting.pop(0).result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def total(batches: Iterator[Tally], reviews: int, seconds: float, shown: Callable[[Tally, int], None]) -> Tally:
    """Add batches up until there are so many reviews or the time is over; call ``shown`` after each batch."""
    whole, began = Tally(), monotonic()
    for number, each in enumerate(batches, 1):
        whole.add(each)
        shown(whole, number)
        if whole.asked >= reviews or monotonic() - began > seconds:
            break
    return whole
