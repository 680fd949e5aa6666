"""Ask reviews of mutated real pods and count what came of them; exit status 1 where an answer is not as it must be.

python -m bench.fuzz [--reviews 1000000] [--seed 1] [--jobs 2] [--seconds S] [--first CASE] [--only CASE]
"""

import argparse
import sys
from math import inf
from time import monotonic

import orjson

from .batches import CASES, Part, results, run, total
from .port import Answer
from .tally import Tally

_SHOWN_EVERY_SECONDS = 10.0


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reviews", type=int, default=1_000_000, help="stop behind the batch with the last of these")
    parser.add_argument("--seed", type=int, default=1, help="which cases; the same seed, the same counts")
    parser.add_argument("--jobs", type=int, default=2, help="processes; the counts are the same for any number")
    parser.add_argument("--seconds", type=float, default=inf, help="stop earlier, behind the batch that is under way")
    parser.add_argument("--first", type=int, default=0, metavar="CASE", help="go on from this case (its batch)")
    parser.add_argument("--only", type=int, metavar="CASE", help="show the reviews of this case, and what is wrong")
    options = parser.parse_args()
    if options.only is not None:
        return _replay(options.seed, options.only)
    first = options.first // CASES
    progress = _Progress()
    batches = results(options.seed, first, options.jobs)
    whole = total(batches, options.reviews, options.seconds, progress.report)
    print(whole.report())
    seconds = monotonic() - progress.began
    print(
        f"\n{whole.asked:,} reviews of {whole.cases:,} cases in {seconds:.0f} s, {whole.asked / seconds:.0f} a second;"
    )
    print(
        f"{whole.remembered:,} questions answered from memory; the next case is --first {first * CASES + whole.cases}"
    )
    return _verdict(whole)


def _replay(seed: int, case: int) -> int:
    """Play one case behind those before it in its batch, whose answers it may have got from memory."""

    def show(path: str, body: bytes, answer: Answer) -> None:
        sys.stdout.buffer.write(b"POST %b\n%b\n%d %b\n\n" % (path.encode(), body, answer.status, answer.content))

    tally = run(seed, case // CASES, Part(cases=case % CASES + 1, show=show))
    print(orjson.dumps(dict(tally.first.items()), option=orjson.OPT_INDENT_2).decode())
    return _verdict(tally)


def _verdict(tally: Tally) -> int:
    violated = tally.violated.total()
    print(f"\n{violated:,} violations" if violated else "\nno violation")
    return int(violated > 0)


class _Progress:
    """Says now and then how far it is, where people look and no table goes."""

    def __init__(self) -> None:
        self.began = self._shown = monotonic()

    def report(self, whole: Tally, batches: int) -> None:
        now = monotonic()
        if now - self._shown > _SHOWN_EVERY_SECONDS:
            self._shown = now
            rate = whole.asked / (now - self.began)
            counts = f"{whole.asked:,} reviews in {batches:,} batches, {rate:.0f} a second"
            print(f"{counts}, {whole.violated.total():,} violations", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
