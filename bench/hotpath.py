"""Where the time of one review goes, without a server: parts of the path, and functions.

Each figure is the least of many tries with other pods of the same templates: what else the machine does makes a try
slower, never faster. In a server, with cold caches in between, the same work takes about a quarter more.

With ``--pods`` each workload has so many: the pods of a gang share its name, and only the first of them is decided on
from the start (docs/adr/0005-recall.md).

    python -m bench.hotpath [--library] [--pods 4] [--tries 20] [--functions 40]
"""

import argparse
import cProfile
import gc
import pstats
import time
from collections.abc import Callable, Iterator
from itertools import count, islice

import orjson

from podberth.admission import decide
from podberth.admission.description import describe
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.shape import shape_problems

from . import clusters, decisions
from .figures import table
from .reviews import distinct, numbered

_TEMPLATES = 400
# Long enough for the clock, short enough to fall between two interruptions.
_BATCH = 10


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="store_true", help="all policies, and not the four that write most")
    parser.add_argument("--pods", type=int, default=1, help="of each workload (default 1)")
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--functions", type=int, default=0, help="profile /mutate and print so many functions")
    options = parser.parse_args()
    snapshot = decisions.snapshot(clusters.documents(1000, 50), library=options.library)
    bodies = [body for body in islice(distinct(), _TEMPLATES) for _ in range(options.pods)]
    # As the server does with whatever lives as long as a snapshot.
    gc.collect()
    gc.freeze()
    # The pods of a workload come one after the other and have one number.
    numbers = (number for number in count() for _ in range(options.pods))
    rows = [(name, f"{micros:.1f}") for name, micros in _least(bodies, numbers, options.tries, snapshot)]
    print(table(("part", "µs"), rows))
    if options.functions:
        _profile(bodies, numbers, snapshot, options.functions)


def _parts(snapshot: Snapshot) -> dict[str, Callable[[bytes, AdmissionRequest], object]]:
    def answered(_: bytes, request: AdmissionRequest) -> bytes:
        return orjson.dumps(decide.mutate(request, snapshot).response)

    return {
        "read and decode": lambda body, _: decode_review(orjson.loads(body), len(body)),
        "check the shape": lambda _, request: shape_problems(request.object),
        "describe": lambda _, request: describe(request.object or {}, request.namespace, snapshot),
        "/mutate, with its answer": answered,
        "/validate": lambda _, request: decide.validate(request, snapshot),
    }


def _least(bodies: list[bytes], numbers: Iterator[int], tries: int, snapshot: Snapshot) -> Iterator[tuple[str, float]]:
    """Yield each part with its microseconds per review: the least of each batch, the mean of the batches."""
    starts = range(0, len(bodies), _BATCH)
    parts = _parts(snapshot)
    best = {name: dict.fromkeys(starts, float("inf")) for name in parts}
    # One try more, uncounted, warms the caches.
    for attempt in range(tries + 1):
        for start in starts:
            texts = [numbered(body, next(numbers)) for body in bodies[start : start + _BATCH]]
            reviews = [(text, decode_review(orjson.loads(text), len(text))) for text in texts]
            for name, part in parts.items():
                began = time.perf_counter_ns()
                for text, request in reviews:
                    part(text, request)
                took = (time.perf_counter_ns() - began) / len(reviews) / 1e3
                best[name][start] = min(best[name][start], took) if attempt else float("inf")
    for name, batches in best.items():
        yield name, sum(batches.values()) / len(batches)


def _profile(bodies: list[bytes], numbers: Iterator[int], snapshot: Snapshot, functions: int) -> None:
    requests = [decode_review(orjson.loads(numbered(body, next(numbers)))) for body in bodies]
    profile = cProfile.Profile()
    profile.enable()
    for request in requests:
        decide.mutate(request, snapshot)
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(functions)


if __name__ == "__main__":
    main()
