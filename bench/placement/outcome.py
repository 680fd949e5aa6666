"""The figures of one replay: at the moment when the first pod cannot be placed, and when all have been tried."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .accounts import Account, Ask, Held, allowed
from .fragments import Fragmentation
from .overlay import RACK, WHOLE, Machine, need_mib
from .trace import TracePod

Fit: TypeAlias = Literal["right", "larger", "whole"]
"""What a pod got that needs a part of a GPU: the smallest instance here that is enough, a larger one, a whole GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of one pod."""

    pod: TracePod
    ask: Ask
    node: str = ""
    """Empty: the scheduler found none."""
    devices: tuple[str, ...] = ()
    """What the scheduler itself has allocated of a DRA driver's devices, by name."""
    reason: str = ""
    """Why, in the scheduler's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The cluster after so many pods."""

    arrived_gpus: float
    """What all pods so far have use for."""
    placed_pods: int
    used_gpus: float
    """What the placed ones have use for."""
    held_gpus: float
    """What nobody else can have because of them."""
    free_gpus: float
    fragmented_gpus: float
    multi: int
    """Placed pods of several GPUs."""
    together: int
    """Of them, those with all GPUs in one NVLink domain."""
    linkable: int
    """Of the pods of several GPUs, those that came while a machine with room for them had that many free in one domain.
    """
    fits: tuple[tuple[Fit, int], ...]
    """Placed pods that need a part of a GPU, by what they got."""
    gangs: int
    """Gangs that have come, each with a pod that was placed or refused."""
    whole_gangs: int
    """Of them, those of which every pod is placed."""
    half_gangs: int
    """Those of which some pods are placed and some are not."""
    racked_gangs: int
    """Of the whole ones, those in one rack."""

    @property
    def fragmentation(self) -> float:
        """The fragmented part of what is free."""
        return self.fragmented_gpus / self.free_gpus if self.free_gpus else 0.0

    def got(self, fit: Fit) -> int:
        """Count the pods that got this."""
        return dict(self.fits).get(fit, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One replay."""

    capacity_gpus: float
    pods: int
    first: int | None
    """How many pods came before the first that could not be placed; None: all were placed."""
    first_small: int | None
    """The same for the first that wants one GPU at most."""
    reason: str
    """The scheduler's about that pod, the first."""
    at_first: Moment
    at_end: Moment
    curve: tuple[Moment, ...]

    def arrived(self, share: float) -> Moment | None:
        """Return the moment when what had arrived had use for that share of the GPUs; None if so much never came."""
        return next((each for each in self.curve if each.arrived_gpus >= share * self.capacity_gpus), None)


class _Tally:
    def __init__(self, machines: Sequence[Machine], workload: Sequence[Ask]) -> None:
        self.machines = machines
        self.accounts = {machine.name: Account(machine) for machine in machines}
        self.fragmentation = Fragmentation(workload, machines)
        self.arrived = self.used = self.held = 0.0
        self.placed = self.multi = self.together = self.linkable = 0
        self.fits: Counter[Fit] = Counter()
        self.racks: defaultdict[str, list[str]] = defaultdict(list)
        """For each pod of a gang that came, its rack; empty for one that was refused."""
        units = (unit for machine in machines for unit in machine.units)
        self._instances = sorted({unit.memory_mib for unit in units if unit.resource != WHOLE})

    def add(self, trial: Trial) -> None:
        self.arrived += trial.pod.asked
        if gang := trial.pod.gang:
            labels = self.accounts[trial.node].machine.node["metadata"]["labels"] if trial.node else {}
            self.racks[gang].append(labels.get(RACK, ""))
        if not trial.node:
            return
        ask = trial.ask
        rooms = (each for each in self.accounts.values() if each.free_linked() >= ask.count and each.hosts(ask))
        self.linkable += trial.pod.gpus > 1 and any(rooms)
        held = self.accounts[trial.node].place(ask, trial.devices)
        self.placed += 1
        self.used += trial.pod.asked
        self.held += held.size
        if trial.pod.gpus > 1:
            self.multi += 1
            self.together += held.together
        if trial.pod.shares:
            self.fits[self._fit(trial.pod, held)] += 1

    def must_refuse(self, trial: Trial) -> None:
        """See that the accounts are the scheduler's; ValueError where they have room that it had not."""
        leave = allowed(json.loads(trial.ask.terms), self.machines) if trial.ask.terms else self.accounts.keys()
        if room := [name for name in leave if self.accounts[name].hosts(trial.ask)]:
            raise ValueError(f"{trial.pod.name}: got refused ({trial.reason}), want a place on {room[0]}")

    def moment(self) -> Moment:
        whole = [racks for racks in self.racks.values() if all(racks)]
        return Moment(
            arrived_gpus=self.arrived,
            placed_pods=self.placed,
            used_gpus=self.used,
            held_gpus=self.held,
            free_gpus=sum(account.free_gpus for account in self.accounts.values()),
            fragmented_gpus=sum(map(self.fragmentation.of, self.accounts.values())),
            multi=self.multi,
            together=self.together,
            linkable=self.linkable,
            fits=tuple(sorted(self.fits.items())),
            gangs=len(self.racks),
            whole_gangs=len(whole),
            half_gangs=sum(any(racks) and not all(racks) for racks in self.racks.values()),
            racked_gangs=sum(len(set(racks)) == 1 for racks in whole),
        )

    def _fit(self, pod: TracePod, held: Held) -> Fit:
        (unit,) = held.units
        if unit.resource == WHOLE:
            return "whole"
        right = next(size for size in self._instances if size >= need_mib(pod))
        return "right" if unit.memory_mib == right else "larger"


def work_out(trials: Sequence[Trial], machines: Sequence[Machine], *, points: int = 40) -> Outcome:
    """Follow the pods in the order of their arrival.

    What is free only ever shrinks, so a pod that the scheduler refused was refused at its turn, and one that it placed
    was placed then: the order is enough to know what each pod found.
    """
    refused = [number for number, trial in enumerate(trials) if not trial.node]
    first = next(iter(refused), None)
    tally = _Tally(machines, [trial.ask for trial in trials])
    every = max(len(trials) // points, 1)
    curve = [tally.moment()]
    at_first = curve[0]
    for number, trial in enumerate(trials):
        if number == first:
            at_first = tally.moment()
            # A group is refused as a whole: one pod of it may have room.
            if not trial.pod.gang:
                tally.must_refuse(trial)
        tally.add(trial)
        if (number + 1) % every == 0 or number + 1 == len(trials):
            curve.append(tally.moment())
    return Outcome(
        capacity_gpus=sum(machine.gpus for machine in machines),
        pods=len(trials),
        first=first,
        first_small=next((number for number in refused if trials[number].pod.gpus <= 1), None),
        reason="" if first is None else trials[first].reason,
        at_first=curve[-1] if first is None else at_first,
        at_end=curve[-1],
        curve=tuple(curve),
    )
