"""Look for the pod that holds a worker longest: ``python -m bench.hostile_search --seconds 3600 --seed 1``.

Hill climbing over pods within the bounds (``bench.genome``): a change that takes longer stays, and where a number of
changes in a row do not, another hill is begun. The time is processor time, as in ``bench.hostile``, so other work on
the machine does little. Each hill's top is printed as it is reached, and the slowest of all at the end, as they may be
put into ``bench/found.py``.
"""

import argparse
import time
from random import Random

from podberth.admission.snapshot import Snapshot

from . import genome
from .genome import Genome
from .hostile import GOAL_MILLISECONDS, Times, at_scale, times_of

_PATIENCE = 60
_NOISE = 1.02
_KEPT = 5


class _Search:
    """One walk, repeatable by its seed as far as times are."""

    def __init__(self, seed: int, snapshot: Snapshot) -> None:
        self._random = Random(seed)  # noqa: S311 - no secret
        self._snapshot = snapshot
        self.tried = 0

    def climb(self, until: float) -> tuple[Genome, Times]:
        """Return the top of one hill, or what was reached when the time was up."""
        best, took = Genome(), self._times(Genome())
        patience = _PATIENCE
        while patience and time.process_time() < until:
            patience -= 1
            other = genome.changed(best, self._random)
            if not genome.fits(genome.build(other, 0)):
                continue
            found = self._times(other)
            if found.slowest > took.slowest * _NOISE:
                found = found.least(self._times(other))
            if found.slowest > took.slowest:
                best, took, patience = other, found, _PATIENCE
        return best, took

    def _times(self, which: Genome) -> Times:
        self.tried += 1
        return times_of(genome.build(which, self.tried), self._snapshot)


def main() -> int:
    """Search and print; 1 where a pod above the goal was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="of processor time")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    search = _Search(options.seed, at_scale())
    until = time.process_time() + options.seconds
    tops: list[tuple[Genome, Times]] = []
    while time.process_time() < until:
        tops.append(search.climb(until))
        which, took = tops[-1]
        print(f"{took.slowest:.0f} ms ({took.verdicts}): {which.name}", flush=True)
    tops.sort(key=lambda top: -top[1].slowest)
    print(f"\n{search.tried:,} pods tried, {len(tops)} hills; the slowest, goal {GOAL_MILLISECONDS} ms or less:")
    for which, took in tops[:_KEPT]:
        print(f"{took.slowest:.0f} ms: {which.name}")
    return int(tops[0][1].slowest > GOAL_MILLISECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
