"""Which devices each placed pod holds, and what is left on each machine.

The scheduler counts devices, and the kubelet's device plugin chooses them. NVIDIA's prefers GPUs that are linked
(go-gpuallocator besteffort_policy.go); here a pod gets the NVLink domain with the fewest free GPUs that are enough, and
GPUs of several domains only where no domain has enough.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from podberth.kube.selector import node_selector_matches
from podberth.topology.free_links import most_linked

from .overlay import WHOLE, Machine, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a pod wants of a node, as it came out of admission."""

    cpu_milli: int
    memory_mib: int
    resource: str = ""
    """The device plugin's resource; empty: no GPU."""
    count: int = 0
    terms: str = ""
    """Its required node affinity as JSON; empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The devices of one pod."""

    units: tuple[Unit, ...]
    together: bool
    """Whether all of them are in one NVLink domain; one GPU is."""

    @property
    def size(self) -> float:
        """GPUs that nobody else can have now."""
        return sum(unit.size for unit in self.units)


class Account:
    """What is left of one machine."""

    def __init__(self, machine: Machine) -> None:
        """Begin with all of it."""
        self.machine = machine
        self.cpu_milli = machine.cpu_milli
        self.memory_mib = machine.memory_mib
        self.free = list(machine.units)

    def hosts(self, ask: Ask) -> bool:
        """Return whether CPU, memory and devices are enough; affinity is asked elsewhere."""
        enough = ask.cpu_milli <= self.cpu_milli and ask.memory_mib <= self.memory_mib
        return enough and self.counts()[ask.resource] >= ask.count

    def counts(self) -> Counter[str]:
        """Count the free devices of each resource."""
        return Counter(unit.resource for unit in self.free)

    def free_linked(self) -> int:
        """Return the most free GPUs, whole ones, that share NVLink; 1 for a free one without links."""
        return most_linked({unit.gpu for unit in self.free if unit.resource == WHOLE}, self.machine.domains)

    def place(self, ask: Ask) -> Held:
        """Take what the pod asks for; ValueError where the machine has not as much, which the scheduler had seen."""
        if not self.hosts(ask):
            left = f"{self.cpu_milli}m, {self.memory_mib}Mi, {dict(self.counts())}"
            raise ValueError(f"{self.machine.name}: got a pod that asks for {ask}, want one that fits into {left}")
        chosen = _choose([unit for unit in self.free if unit.resource == ask.resource], ask.count, self.machine.domains)
        for unit in chosen:
            self.free.remove(unit)
        self.cpu_milli -= ask.cpu_milli
        self.memory_mib -= ask.memory_mib
        gpus = {unit.gpu for unit in chosen}
        together = len(gpus) <= 1 or any(gpus <= set(domain) for domain in self.machine.domains)
        return Held(units=tuple(chosen), together=together)


def _choose(free: Sequence[Unit], count: int, domains: Sequence[Sequence[int]]) -> list[Unit]:
    groups = [[unit for unit in free if unit.gpu in domain] for domain in domains]
    enough = [group for group in groups if len(group) >= count]
    if count > 1 and enough:
        return min(enough, key=len)[:count]
    # One device, or devices of several domains: of those that are used most already, so that whole domains stay.
    crowd = Counter(unit.gpu for unit in free)
    size = {unit.gpu: len(group) for group in groups for unit in group}
    return sorted(free, key=lambda unit: (size.get(unit.gpu, 0), crowd[unit.gpu], unit.gpu))[:count]


def allowed(terms: Iterable[Mapping[str, object]], machines: Sequence[Machine]) -> frozenset[str]:
    """Name the machines that required node affinity allows."""
    listed = list(terms)
    return frozenset(
        each.name
        for each in machines
        if node_selector_matches(listed, each.node["metadata"]["labels"], {"metadata.name": each.name})
    )
