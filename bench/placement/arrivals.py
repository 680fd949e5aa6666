"""Arrivals otherwise than in the trace: drawn by lot until they have use for so many GPUs, and gangs laid over them.

*Inflated*, as section 6 of the paper has it (Weng et al., USENIX ATC 2023): pods of the trace are drawn by lot, each as
often as it comes, until what has arrived has use for that share of the cluster's GPUs.

*Gangs*: the trace has none. Every eighth pod of whole GPUs comes as a gang of four pods like it, one after the other.
Its pods say so by podberth's own label and annotation.
"""

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from .trace import TracePod

GANG_PODS = 4
"""The pods of a gang."""
_EVERY = 8


def drawn(pods: Sequence[TracePod], seed: int) -> Iterator[TracePod]:
    """Yield pods by lot, without end; the number of the draw makes each name its own."""
    # Which pods are drawn is no secret; which ones they were can be repeated.
    lot = random.Random(seed)  # noqa: S311
    for number in itertools.count(1):
        pod = lot.choice(pods)
        yield replace(pod, name=f"{pod.name}-{number}")


def with_gangs(pods: Iterable[TracePod]) -> Iterator[TracePod]:
    """Yield the pods, every eighth one of whole GPUs as a gang."""
    whole = 0
    for pod in pods:
        whole += pod.gpus > 0 and not pod.shares
        if pod.gpus and not pod.shares and whole % _EVERY == 0:
            yield from (replace(pod, name=f"{pod.name}-{index}", gang=pod.name) for index in range(GANG_PODS))
        else:
            yield pod


def until(pods: Iterable[TracePod], gpus: float) -> tuple[TracePod, ...]:
    """Return the first pods that have use for so many GPUs together; a gang at the end is whole."""
    found: list[TracePod] = []
    arrived = 0.0
    for pod in pods:
        if arrived >= gpus and not (pod.gang and pod.gang == found[-1].gang):
            break
        found.append(pod)
        arrived += pod.asked
    return tuple(found)
