"""Label expressions of a big cluster: how long each question takes the first time, and how large the answer is.

The fleet is ``clusters``' simulated one, asked for every combination of GPUs, memory and NVLink that pods want. The
other one has as many kinds of nodes with labels drawn by lot, and wants a half, a tenth and a hundredth of them: no
label means anything there, so every step that the search may take is taken.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import orjson

from podberth.conventions import LABEL_KEYS, Conventions
from podberth.topology.cover import LabelledNodes
from podberth.topology.index import Need, TopologyIndex
from podberth.topology.placement import Placement

_GPU = "nvidia.com/gpu"
_KINDS, _NODES_EACH = 500, 20
HEADER = ("cluster", "questions", "ms p50", "ms most", "bytes most", "separable")


@dataclass(frozen=True, slots=True)
class Answered:
    """One question's answer and its cost."""

    took_ms: float
    size_bytes: int
    separable: bool


def fleet(index: TopologyIndex) -> list[Answered]:
    """Ask for every kind of pod; the index must not have been asked before."""
    answers = []
    for amount, memory_mib, linked in product((1, 2, 4, 8), (0, 20_000, 45_000, 100_000), (1, 2, 4, 8)):
        if linked > amount:
            continue
        found = index.nodes(Need(((_GPU, amount),), amount, memory_mib)).with_link_domain(linked)
        started = time.perf_counter_ns()
        answers.append(_answered(started, found.placement))
    return answers


def scrambled(rounds: int) -> list[Answered]:
    """Ask for a random half, tenth and hundredth of nodes with random labels."""
    answers = []
    for seed in range(rounds):
        for share in (2, 10, 100):
            wanted, others = _drawn(seed, share)
            started = time.perf_counter_ns()
            answers.append(
                _answered(started, Placement(wanted, others, (), conventions=Conventions(), distinguishing=""))
            )
    return answers


def _drawn(seed: int, share: int) -> tuple[list[LabelledNodes], list[LabelledNodes]]:
    lots = random.Random(seed)  # noqa: S311 - the same in each run
    keys = [*(each.key for each in LABEL_KEYS), *(f"example.com/label-{number}" for number in range(20))]
    kinds = [LabelledNodes({key: lots.choice("abcd") for key in keys}, _NODES_EACH) for _ in range(_KINDS)]
    return kinds[: _KINDS // share], kinds[_KINDS // share :]


def _answered(started: int, placement: Placement) -> Answered:
    both = (placement.preferred, placement.required)
    took_ms = (time.perf_counter_ns() - started) / 1e6
    return Answered(took_ms, max(len(orjson.dumps(terms)) for terms in both), placement.separable)


def rows(named: dict[str, list[Answered]]) -> Iterator[tuple[str, ...]]:
    """Yield the table's rows."""
    for name, answers in named.items():
        took = sorted(each.took_ms for each in answers)
        yield (
            name,
            str(len(answers)),
            f"{took[len(took) // 2]:.1f}",
            f"{took[-1]:.1f}",
            str(max(each.size_bytes for each in answers)),
            str(sum(each.separable for each in answers)),
        )
