"""What the size of a cluster costs: decisions, updates, memory and label expressions of an index of 10,000 nodes.

A decision is /mutate with the shipped policies, without a server. "first" asks an index that has answered nothing yet,
as it is after each node's update; "again" asks for other pods with the same needs. The clusters take turns, round by
round.

    python -m bench.topology [--rounds 5] [--reviews 200]
"""

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import cycle, islice
from statistics import median
from typing import Any

import orjson

from podberth.admission import decide
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from podberth.facts.cluster import collect
from podberth.topology.codec import decode_topology
from podberth.topology.index import TopologyIndex
from podberth.topology.manifest import judge, read_node
from podberth.topology.node import Node

from . import clusters, decisions, expressions
from .figures import RATIO_HEADER, Ratio, percentile, table

_BIG, _FEW_NODES, _FEW_CLASSES = (10_000, 500), (500, 500), (10_000, 10)
CLUSTERS = (_BIG, _FEW_NODES, _FEW_CLASSES)
"""Nodes and classes."""

_UPDATES = 300
_MIB = 1 << 20
# Goals of the issue, for the biggest of the clusters.
_DECISION_RATIO = 1.1
_UPDATE_MS = 2.0
_INDEX_MIB = 60.0
# A question is asked once for each snapshot and kind of pod, within a review: a worker may be held for 100 ms at most.
_EXPRESSION_MS = 100.0

Size = tuple[int, int]


@dataclass(slots=True, kw_only=True)
class Times:
    """Medians of one cluster's rounds, in µs."""

    first: list[float]
    again: list[float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reviews", type=int, default=200, help="distinct pods decided on in a round")
    options = parser.parse_args()
    held = {size: _index_mib(size) for size in CLUSTERS}
    snapshots = {size: decisions.snapshot(_parsed(size)) for size in CLUSTERS}
    times = {size: Times(first=[], again=[]) for size in CLUSTERS}
    for _ in range(options.rounds):
        _decide(snapshots, options.reviews, times)
    updates = {size: _update_ms(snapshots[size].topology, size) for size in CLUSTERS}
    answered = {
        "simulated fleet": expressions.fleet(TopologyIndex.build(collect(_parsed(_BIG), now=None).nodes)),
        "labels drawn by lot": expressions.scrambled(options.rounds),
    }
    _print(times, updates, held)
    print()
    print(table(expressions.HEADER, expressions.rows(answered)))
    print()
    slowest = (
        Ratio(name=f"{name}, slowest, ms", each=(max(each.took_ms for each in answers),), most=_EXPRESSION_MS)
        for name, answers in answered.items()
    )
    print(table(RATIO_HEADER, (ratio.row() for ratio in slowest)))


def _parsed(size: Size) -> Iterator[dict[str, Any]]:
    """Yield a cluster's documents as parsed from JSON: no string is shared between two of them."""
    for document in clusters.documents(*size):
        yield orjson.loads(orjson.dumps(document))


def _index_mib(size: Size) -> float:
    """Return what an index keeps in memory, measured before anything else shares its strings."""
    gc.collect()
    tracemalloc.start()
    index = TopologyIndex.build(collect(_parsed(size), now=None).nodes)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if (index.node_count, index.class_count) != size:
        got = f"{index.node_count} nodes in {index.class_count} classes"
        sys.exit(f"bench: cluster: got {got}, want {size[0]} in {size[1]}")
    return held / _MIB


def _decide(snapshots: Mapping[Size, Snapshot], count: int, times: Mapping[Size, Times]) -> None:
    """Decide on reviews over each cluster, twice: with an index that has just been updated, and once more.

    The updates are done before: they walk through the whole table of nodes, and what they leave in the processor's
    caches is not the decision's cost.
    """
    for size, snapshot in snapshots.items():
        cordons = cycle(islice(_cordons(size), 2))
        # A snapshot's other caches hold what follows from its index.
        fresh = [replace(snapshot, topology=snapshot.topology.update([next(cordons)])) for _ in range(count)]
        first = [_timed(*each) for each in zip(decisions.requests(count), fresh, strict=True)]
        again = [_timed(*each) for each in zip(decisions.requests(count, serial=count), fresh, strict=True)]
        times[size].first.append(median(first))
        times[size].again.append(median(again))


def _timed(request: AdmissionRequest, snapshot: Snapshot) -> float:
    started = time.perf_counter_ns()
    decide.mutate(request, snapshot)
    return (time.perf_counter_ns() - started) / 1e3


def _cordons(size: Size) -> Iterator[Node]:
    """Yield a node after the other, cordoned, and at once uncordoned again."""
    for document, topology in _machines(size):
        yield _decoded(document, topology, cordoned=True)
        yield _decoded(document, topology, cordoned=False)


def _machines(size: Size) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    nodes, classes = size
    for number in range(0, nodes, max(nodes // _UPDATES, 1)):
        yield clusters.machine(number, number % classes)


def _decoded(document: dict[str, Any], topology: dict[str, Any], *, cordoned: bool) -> Node:
    document = {**document, "spec": {**document["spec"], "unschedulable": cordoned}}
    return judge(read_node(document), decode_topology(topology), stale=False)


def _update_ms(index: TopologyIndex, size: Size) -> list[float]:
    """Return how long each of many updates takes: a node is cordoned, its documents are decoded, the index replaced."""
    took = []
    for document, topology in islice(_machines(size), _UPDATES):
        started = time.perf_counter_ns()
        index = index.update([_decoded(document, topology, cordoned=True)])
        took.append((time.perf_counter_ns() - started) / 1e6)
    return took


def _print(times: Mapping[Size, Times], updates: Mapping[Size, list[float]], held: Mapping[Size, float]) -> None:
    header = ("nodes", "classes", "first µs", "again µs", "update ms p50", "p99", "index MiB")
    print(
        table(
            header,
            (
                (
                    f"{size[0]:,}",
                    str(size[1]),
                    f"{median(times[size].first):.0f}",
                    f"{median(times[size].again):.0f}",
                    f"{median(updates[size]):.2f}",
                    f"{percentile(updates[size], 99):.2f}",
                    f"{held[size]:.1f}",
                )
                for size in times
            ),
        )
    )
    print()
    print(table(RATIO_HEADER, (ratio.row() for ratio in _ratios(times, updates, held))))


def _ratios(
    times: Mapping[Size, Times], updates: Mapping[Size, list[float]], held: Mapping[Size, float]
) -> list[Ratio]:
    def pairs(one: list[float], other: list[float]) -> tuple[float, ...]:
        return tuple(ours / theirs for ours, theirs in zip(one, other, strict=True))

    big, few, coarse = (times[size] for size in CLUSTERS)
    return [
        Ratio(name="10,000 / 500 nodes, first", each=pairs(big.first, few.first), most=_DECISION_RATIO),
        Ratio(name="10,000 / 500 nodes, again", each=pairs(big.again, few.again), most=_DECISION_RATIO),
        Ratio(name="500 / 10 classes, first", each=pairs(big.first, coarse.first)),
        Ratio(name="500 / 10 classes, again", each=pairs(big.again, coarse.again)),
        Ratio(name="one node's update, ms", each=tuple(updates[_BIG]), most=_UPDATE_MS),
        Ratio(name="index, MiB", each=(held[_BIG],), most=_INDEX_MIB),
    ]


if __name__ == "__main__":
    main()
