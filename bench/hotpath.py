"""What both reviews of a pod cost, without a server: over pods as clusters send them, first time and every time.

A pod is created as the API server does it: /mutate, its patch, a name where it has none, /validate. Workloads have 1, 4
or 16 pods, which come one after another. Processor time, the mean over the pods of all workloads, the least of several
tries, each with workloads not seen before: what else the machine does makes a try slower, never faster. Beside each
figure is the same with nothing remembered (docs/adr/0005-recall.md). In a server, with cold caches in between, the same
work takes about a quarter more.

    python -m bench.hotpath [--four] [--members 1,4,16] [--tries 5] [--profile mutate|validate|both] [--functions 40]
"""

import argparse
import cProfile
import gc
import pstats
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import count

import orjson

from podberth.admission import decide
from podberth.admission.description import describe
from podberth.admission.review import AdmissionRequest
from podberth.admission.review_text import read_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.shape import shape_problems
from snapshots import forgetful

from . import clusters, decisions
from .figures import table
from .forgetful import Forgetful
from .reviews import distinct, numbered, validated

_PODS = 320
"""Pods of a try, whatever the number of a workload's."""


@dataclass(frozen=True, slots=True)
class _Created:
    """The two reviews of a pod."""

    body: bytes
    mutate: AdmissionRequest
    validate: AdmissionRequest


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--four", action="store_true", help="the four policies that write most, and not the library")
    parser.add_argument("--members", default="1,4,16", help="pods of a workload")
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--profile", choices=("mutate", "validate", "both"), help="print where the time goes instead")
    parser.add_argument("--functions", type=int, default=40, help="so many functions of the profile")
    parser.add_argument("--forget", action="store_true", help="profile with nothing remembered")
    options = parser.parse_args()
    snapshot = decisions.snapshot(clusters.documents(1000, 50), library=not options.four)
    # As the server does with whatever lives as long as a snapshot.
    gc.collect()
    gc.freeze()
    serials = count()
    sizes = [int(each) for each in options.members.split(",")]
    if options.profile:
        _profile(snapshot, sizes[0], serials, options)
        return
    rows = []
    for members in sizes:
        kept = _least(snapshot, members, serials, options.tries)
        forgotten = _least(_remembering_nothing(snapshot), members, serials, options.tries)
        rows += [(str(members), part, f"{kept[part]:.0f}", f"{forgotten[part]:.0f}") for part in kept]
    print(table(("pods", "part", "µs", "nothing remembered"), rows))


def _parts(snapshot: Snapshot) -> dict[str, Callable[[_Created], object]]:
    return {
        "read and decode": lambda pod: read_review(pod.body),
        "check the shape": lambda pod: shape_problems(pod.mutate.object),
        "describe": lambda pod: describe(pod.mutate.object or {}, pod.mutate.namespace, snapshot),
        "/mutate, with its answer": lambda pod: orjson.dumps(decide.mutate(pod.mutate, snapshot).response),
        "/validate, with its answer": lambda pod: orjson.dumps(decide.validate(pod.validate, snapshot).response),
    }


def _remembering_nothing(snapshot: Snapshot) -> Snapshot:
    other = copy(snapshot)
    object.__setattr__(other, "recall", Forgetful())
    return other


def _least(snapshot: Snapshot, members: int, serials: Iterator[int], tries: int) -> dict[str, float]:
    """Return the microseconds of each part for a pod, and of both reviews with what they read."""
    parts = _parts(snapshot)
    best = dict.fromkeys(parts, float("inf"))
    # One try more, uncounted, warms the caches.
    for attempt in range(tries + 1):
        pods = created(snapshot, members, next(serials))
        for name, part in parts.items():
            began = time.process_time_ns()
            for pod in pods:
                part(pod)
            took = (time.process_time_ns() - began) / len(pods) / 1e3
            best[name] = min(best[name], took) if attempt else float("inf")
    both = 2 * best["read and decode"] + best["/mutate, with its answer"] + best["/validate, with its answer"]
    return {**best, "both reviews": both}


def created(snapshot: Snapshot, members: int, seed: int) -> list[_Created]:
    """Return pods of workloads that no other seed has; their patches are made by a memory of its own."""
    apart = forgetful(snapshot)
    found = []
    for place, body in enumerate(distinct(_PODS // members, members=members, seed=seed)):
        text = numbered(body, seed * _PODS + place // members)
        request = read_review(text)
        found.append(_Created(text, request, validated(request, decide.mutate(request, apart).patch)))
    return found


def _profile(snapshot: Snapshot, members: int, serials: Iterator[int], options: argparse.Namespace) -> None:
    asked = _remembering_nothing(snapshot) if options.forget else snapshot
    _run(asked, created(snapshot, members, next(serials)), options.profile)
    pods = created(snapshot, members, next(serials))
    profile = cProfile.Profile()
    profile.enable()
    _run(asked, pods, options.profile)
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(options.functions)


def _run(snapshot: Snapshot, pods: Sequence[_Created], which: str) -> None:
    for pod in pods:
        if which != "validate":
            decide.mutate(pod.mutate, snapshot)
        if which != "mutate":
            decide.validate(pod.validate, snapshot)


if __name__ == "__main__":
    main()
