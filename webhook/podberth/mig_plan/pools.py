"""Divides a fleet into pools: the nodes with GPUs of one model, as they can be partitioned."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..devices import mig
from ..devices.mig_tables import MigTable
from ..devices.resources import NVIDIA_GPU, recognise
from ..topology.capability import Capability, capability_of
from ..topology.node import Node
from .layouts import WHOLE
from .serving import Measures, sized

LeftOut: TypeAlias = tuple[tuple[str, int], ...]
"""(reason, number of nodes) of the nodes with NVIDIA GPUs that are in no pool."""

_GPU_COUNT: Final = "nvidia.com/gpu.count"
_COUNTS: Final = range(1, 65)
"""The numbers of GPUs that are believed; no machine has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A node whose GPUs may be partitioned."""

    name: str
    gpus: int
    offer: tuple[tuple[str, int], ...]
    """The number of whole GPUs (WHOLE) and of instances by profile that the node offers today, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Nodes with GPUs of one model, whose drivers have the same profiles."""

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
        return sized(sum_of(dict(machine.offer) for machine in self.machines), self.memory_mib)


def pools_of(nodes: Iterable[Node]) -> tuple[tuple[Pool, ...], LeftOut]:
    """Return (the pools, sorted by the name of the model; why the other nodes with NVIDIA GPUs are in none).

    GPUs of one model are in several pools if their drivers have different names for the profiles.
    """
    found: defaultdict[tuple[str, tuple[tuple[str, int, int], ...]], list[tuple[MigTable, int, Machine]]]
    found = defaultdict(list)
    left_out: Counter[str] = Counter()
    for node in nodes:
        offer = _offer(node)
        if not offer:
            continue
        capability = capability_of(node)
        count = _gpus(node)
        memory = _memory_mib(node, capability)
        if len(capability.models) != 1:
            left_out["GPUs of several models" if capability.models else "GPUs without MIG"] += 1
        elif offer[WHOLE] and (capability.cut or capability.instance):
            left_out["nvidia.com/gpu is a part of a GPU"] += 1
        elif not count:
            left_out["the number of GPUs is unknown"] += 1
        elif not memory:
            left_out["the memory of the GPUs is unknown"] += 1
        else:
            [table] = capability.models
            machine = Machine(name=node.name, gpus=count, offer=tuple(sorted((+offer).items())))
            rows = ((name, row.max_instances, row.memory_mib) for name, row in table.rows.items())
            found[table.name, tuple(sorted(rows))].append((table, memory, machine))
    pools = []
    for _, members in sorted(found.items()):
        machines = tuple(sorted((machine for *_, machine in members), key=lambda each: each.name))
        pools.append(Pool(table=members[0][0], memory_mib=max(size for _, size, _ in members), machines=machines))
    return tuple(pools), tuple(sorted(left_out.items()))


def _memory_mib(node: Node, capability: Capability) -> int:
    """Return the MiB of a node's whole GPU, from its resource, its document or its model's table; 0: unknown."""
    stated = 0 if capability.cut else capability.memory_of.get(NVIDIA_GPU, 0)
    in_document = max((gpu.memory_mib for gpu in _gpus_of(node)), default=0)
    return stated or in_document or max((table.whole_gb * 1024 for table in capability.models), default=0)


def _offer(node: Node) -> Counter[str]:
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
    if label in map(str, _COUNTS):
        return int(label)
    offer = _offer(node)
    return offer[WHOLE] if offer.keys() == {WHOLE} and offer[WHOLE] in _COUNTS else 0


def measures_of(pools: Sequence[Pool]) -> Measures:
    """Return the memory of what the pools' GPUs can be."""
    found: dict[str, int] = {}
    for pool in pools:
        for name in pool.table.rows:
            size = mig.memory_mib(name, pool.table)
            found[name] = min(size, found.get(name, size))
    return Measures(profiles=found, sizes=tuple(sorted({pool.memory_mib for pool in pools})))


def sum_of(offers: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return what all of the offers have together."""
    found: Counter[str] = Counter()
    for each in offers:
        found.update(each)
    return found
