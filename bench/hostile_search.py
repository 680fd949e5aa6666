"""Look for the pod that holds a worker longest: ``python -m bench.hostile_search --seconds 3600 --seed 1``.

With ``--workloads`` it looks for the workload (``bench.roles``), which goes to /validate-workload.

Hill climbing over what is within the bounds (``bench.genome``): a change that takes longer stays, and where a number of
changes in a row do not, another hill is begun. The time is processor time, as in ``bench.hostile``, so other work on
the machine does little. Each hill's top is printed as it is reached, and the slowest of all at the end; they may be
put into ``bench/found.py`` by their names.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

from podberth.admission.snapshot import Snapshot

from . import genome, roles
from .genome import Genome
from .hostile import GOAL_MILLISECONDS, at_scale, milliseconds_of_workload, times_of
from .roles import Shape

_PATIENCE = 60
_NOISE = 1.02
_KEPT = 5
_TRIES_OF_TOP = 5
_Found = TypeVar("_Found", Genome, Shape)


@dataclass(frozen=True, slots=True)
class _Space(Generic[_Found]):
    """What is searched."""

    first: _Found
    changed: Callable[[_Found, Random], _Found]
    build: Callable[[_Found, int], dict[str, Any]]
    milliseconds: Callable[[dict[str, Any]], float]


class _Search(Generic[_Found]):
    """One walk, repeatable by its seed as far as times are."""

    def __init__(self, seed: int, space: _Space[_Found]) -> None:
        self._random = Random(seed)  # noqa: S311 - no secret
        self._space: _Space[_Found] = space
        self.tried = 0

    def climb(self, until: float) -> tuple[_Found, float]:
        """Return the top of one hill, or what was reached when the time was up, with the least milliseconds of it."""
        space = self._space
        best, slowest = space.first, self._milliseconds(space.first)
        patience = _PATIENCE
        while patience and time.process_time() < until:
            patience -= 1
            other = space.changed(best, self._random)
            if not genome.fits(space.build(other, 0)):
                continue
            took = self._milliseconds(other)
            if took > slowest * _NOISE:
                took = min(took, self._milliseconds(other))
            if took > slowest:
                best, slowest, patience = other, took, _PATIENCE
        return best, min(slowest, *(self._milliseconds(best) for _ in range(_TRIES_OF_TOP)))

    def _milliseconds(self, which: _Found) -> float:
        self.tried += 1
        return self._space.milliseconds(self._space.build(which, self.tried))


def main() -> int:
    """Search and print; 1 where something above the goal was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="of processor time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workloads", action="store_true", help="look for a workload")
    options = parser.parse_args()
    snapshot = at_scale()
    if options.workloads:
        return _searched(_Search(options.seed, _workloads(snapshot)), options.seconds)
    return _searched(_Search(options.seed, _pods(snapshot)), options.seconds)


def _pods(snapshot: Snapshot) -> _Space[Genome]:
    return _Space(Genome(), genome.changed, genome.build, lambda pod: times_of(pod, snapshot).slowest)


def _workloads(snapshot: Snapshot) -> _Space[Shape]:
    first = Shape(Genome(), roles=64)
    return _Space(first, roles.changed, roles.build, lambda workload: milliseconds_of_workload(workload, snapshot))


def _searched(search: _Search[_Found], seconds: float) -> int:
    until = time.process_time() + seconds
    tops: list[tuple[_Found, float]] = []
    while time.process_time() < until:
        tops.append(search.climb(until))
        which, took = tops[-1]
        print(f"{took:.0f} ms: {which.name}", flush=True)
    tops.sort(key=lambda top: -top[1])
    print(f"\n{search.tried:,} tried, {len(tops)} hills; the slowest, goal {GOAL_MILLISECONDS} ms or less:")
    for which, took in tops[:_KEPT]:
        print(f"{took:.0f} ms: {which.name}")
    return int(tops[0][1] > GOAL_MILLISECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
