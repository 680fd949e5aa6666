"""Which devices each placed pod holds, and what is left on each machine.

The scheduler counts devices, and the kubelet's device plugin chooses them. NVIDIA's prefers GPUs that are linked
(go-gpuallocator besteffort_policy.go); here a pod gets the NVLink domain with the fewest free GPUs that are enough, and
GPUs of several domains only where no domain has enough. A DRA driver's devices the scheduler chooses itself.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from podberth.kube.selector import node_selector_matches
from podberth.topology.free_links import most_linked

from .overlay import MEMORY_SLICES, WHOLE, Machine, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a pod wants of a node, as it came out of admission."""

    cpu_milli: int
    memory_mib: int
    resource: str = ""
    """The device plugin's resource; empty: no GPU."""
    count: int = 0
    claim_mib: int = 0
    """The GPU memory that its claim wants of one device, an instance or a GPU; 0: it has no claim."""
    terms: str = ""
    """Its required node affinity as JSON; empty: none."""

    @property
    def sort(self) -> "Sort":
        """The devices that would do."""
        return self.resource, self.claim_mib


Sort: TypeAlias = tuple[str, int]
"""``resource`` and ``claim_mib`` of an Ask."""


def serves(unit: Unit, sort: Sort) -> bool:
    """Return whether a device would do."""
    resource, claim_mib = sort
    return bool(unit.device) and unit.memory_mib >= claim_mib if claim_mib else unit.resource == resource


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
        self.free_gpus = machine.gpus
        """GPUs that nobody has, those parts included that no device has."""

    def hosts(self, ask: Ask) -> bool:
        """Return whether CPU, memory and devices are enough; affinity is asked elsewhere."""
        enough = ask.cpu_milli <= self.cpu_milli and ask.memory_mib <= self.memory_mib
        return enough and (not ask.count or self.count(ask.sort) >= ask.count)

    def count(self, sort: Sort) -> int:
        """Count the free devices that would do; of a claim's, that is one or more."""
        return sum(serves(unit, sort) for unit in self.free)

    def lumps(self) -> Iterator[tuple[float, tuple[Unit, ...]]]:
        """Yield (GPUs, devices) of what is handed out on its own: a device, or what is left of a GPU to be cut."""
        by_gpu: defaultdict[int, list[Unit]] = defaultdict(list)
        for unit in self.free:
            if unit.slices:
                by_gpu[unit.gpu].append(unit)
            else:
                yield unit.size, (unit,)
        for units in by_gpu.values():
            yield len(frozenset().union(*(unit.slices for unit in units))) / MEMORY_SLICES, tuple(units)

    def free_linked(self) -> int:
        """Return the most free GPUs, whole ones, that share NVLink; 1 for a free one without links."""
        return most_linked({unit.gpu for unit in self.free if unit.resource == WHOLE}, self.machine.domains)

    def place(self, ask: Ask, devices: Sequence[str] = ()) -> Held:
        """Take what the pod asks for; ValueError where the machine has not as much, which the scheduler had seen.

        ``devices`` are those that the scheduler itself has allocated, by name.
        """
        fitting = [unit for unit in self.free if serves(unit, ask.sort)]
        named = [unit for unit in fitting if unit.device in devices] if devices else fitting
        if not self.hosts(ask) or len(named) < ask.count:
            left = f"{self.cpu_milli}m, {self.memory_mib}Mi, {dict(Counter(unit.resource for unit in self.free))}"
            raise ValueError(f"{self.machine.name}: got a pod that asks for {ask}, want one that fits into {left}")
        chosen = named if devices else _choose(fitting, ask.count, self.machine.domains)
        for unit in chosen:
            self.free.remove(unit)
            self.free = [each for each in self.free if each.gpu != unit.gpu or not each.slices & unit.slices]
            self.free_gpus -= unit.size
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
