"""Divides a fleet into pools: the nodes with GPUs of one model, as they can be partitioned."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..devices import mig
from ..devices.mig_tables import MigTable
from ..devices.resources import recognise
from ..topology.capability import capability_of
from ..topology.node import Node
from .layouts import WHOLE
from .serving import Measures

_GPU: Final = "nvidia.com/gpu"
_GPU_COUNT: Final = "nvidia.com/gpu.count"
_COUNTS: Final = frozenset(map(str, range(1, 65)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A node whose GPUs may be partitioned."""

    name: str
    gpus: int
    offer: tuple[tuple[str, int], ...]
    """The number of whole GPUs (WHOLE) and of instances by profile that the node offers today, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Nodes with GPUs of one model."""

    table: MigTable
    memory_mib: int
    """MiB of one whole GPU."""
    machines: tuple[Machine, ...]

    @property
    def gpus(self) -> int:
        """The number of GPUs of all nodes."""
        return sum(machine.gpus for machine in self.machines)

    @property
    def offer(self) -> Counter[str]:
        """What all nodes offer today."""
        return sum_of(Counter(dict(machine.offer)) for machine in self.machines)


def pools_of(nodes: Iterable[Node]) -> tuple[tuple[Pool, ...], tuple[tuple[str, int], ...]]:
    """Return (the pools, sorted by the name of the model; (reason, number) of the other nodes with NVIDIA GPUs)."""
    found: defaultdict[str, list[tuple[MigTable, int, Machine]]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for node in nodes:
        offer = _offer(node)
        if not offer:
            continue
        capability = capability_of(node)
        count = _gpus(node)
        memory = capability.memory_of.get(_GPU, 0) or max((gpu.memory_mib for gpu in _gpus_of(node)), default=0)
        if len(capability.models) != 1:
            left_out["GPUs of several models" if capability.models else "GPUs without MIG"] += 1
        elif capability.cut or capability.instance:
            left_out["nvidia.com/gpu is a part of a GPU"] += 1
        elif not count:
            left_out["the number of GPUs is unknown"] += 1
        else:
            [table] = capability.models
            machine = Machine(name=node.name, gpus=count, offer=tuple(sorted(offer.items())))
            found[table.name].append((table, memory, machine))
    pools = []
    for _, members in sorted(found.items()):
        table = members[0][0]
        memory = max(size for _, size, _ in members) or table.whole_gb * 1024
        machines = tuple(sorted((machine for *_, machine in members), key=lambda each: each.name))
        pools.append(Pool(table=table, memory_mib=memory, machines=machines))
    return tuple(pools), tuple(sorted(left_out.items()))


def _offer(node: Node) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, amount in node.durable.items():
        accelerator = recognise(name)
        if accelerator is not None and accelerator.vendor == "nvidia" and accelerator.kind in ("whole", "mig"):
            found[accelerator.profile if accelerator.kind == "mig" else WHOLE] += amount
    return found


def _gpus_of(node: Node) -> Sequence[Any]:
    return [] if node.topology is None else [gpu for gpu in node.topology.gpus if gpu.vendor == "nvidia"]


def _gpus(node: Node) -> int:
    """Return the number of a node's GPUs, from the agent's document or GFD's label; 0: unknown."""
    if found := len(_gpus_of(node)):
        return found
    label = node.labels.get(_GPU_COUNT, "")
    if label in _COUNTS:
        return int(label)
    offer = _offer(node)
    return offer[WHOLE] if offer.keys() == {WHOLE} else 0


def measures_of(pools: Sequence[Pool]) -> Measures:
    """Return the memory of what the pools' GPUs can be."""
    found: dict[str, int] = {}
    sizes = [pool.memory_mib for pool in pools]
    for pool in pools:
        for name in pool.table.rows:
            size = mig.memory_mib(name, pool.table)
            found[name] = min(size, found.get(name, size))
    return Measures(profiles=found, whole_mib=min(sizes, default=0), largest_mib=max(sizes, default=0))


def sum_of(offers: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return what all of the offers have together."""
    found: Counter[str] = Counter()
    for each in offers:
        found.update(each)
    return found
