"""Counts the free GPUs of a node that are linked with each other, for the node label of ``--free-labels``."""

from collections.abc import Iterable
from typing import Final

from .node import NodeTopology
from .usage import Allocation

_EXACT: Final = 8


def free_linked_gpus(topology: NodeTopology, allocation: Allocation) -> int | None:
    """Return the largest number of free GPUs of the node that share one link domain; None if unknown.

    A free GPU is healthy, is not in MIG mode, and is held by no container. One free GPU without links counts as 1. The
    number is unknown if the links are, or if a container holds an unknown device.
    """
    if topology.links.shape == "unknown" or allocation.unmatched:
        return None
    whole = (gpu.index for gpu in topology.gpus if not gpu.problem and not gpu.mig_enabled)
    free = {index for index in whole if allocation.held(index) is False}
    return most_linked(free, topology.links.domains)


def most_linked(free: set[int], domains: Iterable[Iterable[int]]) -> int:
    """Return the largest number of GPUs among ``free`` in one link domain; 1 if none of them is linked."""
    return max((len(free.intersection(domain)) for domain in domains), default=0) or min(1, len(free))


def bucket(count: int) -> int:
    """Return the value of the label for ``count`` free GPUs: the number up to 8, above the largest power of two below.

    A machine has 8 GPUs at most, but for a few kinds. The value never promises more than is there.
    """
    return count if count <= _EXACT else 1 << (count.bit_length() - 1)
