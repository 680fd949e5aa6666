"""Plans the MIG layouts of a fleet for a demand, and compares them with today's."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .demand import Demand
from .hosts import RESOURCES, Hosts, spread
from .layouts import UNCUT, WHOLE, Layout, is_whole
from .pools import Machine, Pool, measures_of, sum_of
from .search import search
from .serving import Measures, Served, Want, served, sized, use_of, wants_of

_UNKNOWN: Final = Hosts()
_CLOSE_MIB: Final = 1e-3
"""The difference from which on layouts serve more than others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A configuration of mig-parted: the layout of each GPU of a node."""

    name: str
    layouts: tuple[Layout, ...]
    """By the index of the GPU."""
    nodes: tuple[str, ...]
    """The nodes that get it; each offers something else today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """The layouts of one pool."""

    pool: Pool
    configs: tuple[Config, ...]
    """Those of the nodes that change."""
    kept: tuple[str, ...]
    """The nodes that stay as they are."""
    today_mib: float
    """The MiB in use of what the pool offers today."""
    planned_mib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The layouts of a fleet, and how much of the demand they serve."""

    pools: tuple[PoolPlan, ...]
    today: Served
    planned: Served
    bound_mib: float
    """No layouts serve more of the demand than so many MiB."""
    demand_mib: int
    """The MiB that all pods of the demand need; those of whole GPUs are counted with the memory of the smallest."""
    keeps: bool
    """Whether nothing better than today's layouts was found; then ``planned`` is ``today``, and there are no pools."""

    @property
    def exact(self) -> bool:
        """Whether no other layouts serve more."""
        return self.bound_mib <= self.planned.memory_mib + _CLOSE_MIB


@dataclass(slots=True)
class _Group:
    """Machines of one pool with the same offer today and the same planned layouts."""

    pool: int
    layouts: tuple[Layout, ...]
    today: Mapping[str, int]
    planned: Mapping[str, int]
    machines: list[Machine]
    kept: int = 0
    """The number of machines, from the first on, that stay as they are."""


def plan(
    pools: Sequence[Pool],
    demand: Demand,
    hosts: Hosts = _UNKNOWN,
    *,
    clock: Callable[[], float],
    seconds: float = 10.0,
) -> Plan:
    """Return the layouts that serve the most memory of a demand with few nodes that change; never less than today's.

    A need of memory gets the smallest profile that is offered and large enough, as the policy ``mig-right-size`` asks
    for it, or a whole GPU where none is.

    Args:
        pools: the fleet.
        demand: the number of pods of each need.
        hosts: the CPU and memory of nodes and pods. The nodes that are partitioned are so many that the pods have
            enough of both on average.
        clock: returns the time in seconds; only differences count.
        seconds: the time for the search.
    """
    measures = measures_of(pools)
    start = clock()
    found = search(pools, demand, measures, clock, seconds)
    offer = sum_of(pool.offer for pool in pools)
    today = served(offer, demand, measures)
    loads = _loads(found.layouts, demand, measures, hosts)
    groups = [each for at, pool in enumerate(pools) for each in _groups(at, pool, found.layouts[at], loads, hosts)]
    wants = wants_of(demand, measures)
    _keep(groups, wants, measures, lambda: clock() > start + seconds)
    after = sum_of(_offer_after(group) for group in groups)
    planned = served(after, demand, measures)
    keeps = planned.memory_mib <= today.memory_mib + _CLOSE_MIB
    return Plan(
        pools=() if keeps else tuple(_pool_plans(pools, groups, wants, measures)),
        today=today,
        planned=today if keeps else planned,
        bound_mib=max(found.bound_mib, today.memory_mib),
        demand_mib=sum(measures.memory_mib(need) * count for need, count in demand.items()),
        keeps=keeps,
    )


# ---- which node gets which layouts ----------------------------------------------------------------------------------


def _groups(
    at: int, pool: Pool, chosen: Mapping[Layout, int], loads: Mapping[str, Mapping[str, float]], hosts: Hosts
) -> list[_Group]:
    """Return the machines of a pool by the layouts that they get. Machines with more GPUs come first."""
    cut = [layout for layout in sorted(chosen) if layout != UNCUT for _ in range(chosen[layout])]
    known = [machine for machine in pool.machines if machine.name in hosts.free]
    gpus = sum(machine.gpus for machine in known)
    # Of one GPU, on average: which machine gets which layouts is not known yet.
    shares = {name: sum(hosts.free[each.name][name] for each in known) / gpus for name in RESOURCES if gpus}

    def bears(size: int, layouts: Iterable[Layout]) -> bool:
        offer = _offer_of(layouts)
        return all(
            sum(loads.get(name, {}).get(resource, 0.0) * count for name, count in offer.items()) <= share * size
            for resource, share in shares.items()
        )

    sizes = sorted((machine.gpus for machine in pool.machines), reverse=True)
    wanted: defaultdict[int, Counter[tuple[Layout, ...]]] = defaultdict(Counter)
    for size, layouts in zip(sizes, spread(cut, sizes, bears), strict=True):
        wanted[size][layouts] += 1
    found: list[_Group] = []
    for size, layouts_of_size in wanted.items():
        machines = [machine for machine in pool.machines if machine.gpus == size]
        found += _matched(at, pool.memory_mib, layouts_of_size, machines)
    return found


def _loads(
    layouts: Sequence[Mapping[Layout, int]], demand: Demand, measures: Measures, hosts: Hosts
) -> dict[str, dict[str, float]]:
    """Return what the pod on one instance of each profile, and on one whole GPU, requests of CPU and memory.

    It is the average, and less if the layouts have more of them than there are pods.
    """
    offer = sum_of(_offer_of(layout for layout, count in each.items() for _ in range(count)) for each in layouts)
    units: Counter[str] = Counter()
    requests: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for need, count in demand.items():
        asked = measures.asked_for(need, offer)
        name = WHOLE if is_whole(asked) else asked
        units[name] += (need.gpus or 1) * count
        requests[name].update(hosts.needed.get(need, {}))
    return {
        name: {each: amount / max(units[name], offer[name]) for each, amount in total.items()}
        for name, total in requests.items()
    }


def _order(layouts: Sequence[Layout]) -> list[tuple[bool, Layout]]:
    """Return the sort key of the layouts of a node's GPUs: whole GPUs come first."""
    return [(layout != UNCUT, layout) for layout in layouts]


def _matched(
    at: int, memory_mib: int, wanted: Counter[tuple[Layout, ...]], machines: Iterable[Machine]
) -> Iterable[_Group]:
    """Give each machine one of the wanted layouts: first those that it has already."""
    free: defaultdict[tuple[tuple[str, int], ...], list[Machine]] = defaultdict(list)
    for machine in machines:
        free[machine.offer].append(machine)
    found: dict[tuple[tuple[Layout, ...], tuple[tuple[str, int], ...]], _Group] = {}
    for same in (True, False):
        for layouts in sorted(wanted, key=_order):
            planned = _offer_of(layouts)
            has_it = tuple(sorted(planned.items()))
            for offer in [has_it] if same else sorted(free):
                taken = free.get(offer, [])[: wanted[layouts]]
                if taken:
                    del free[offer][: len(taken)]
                    wanted[layouts] -= len(taken)
                    before, after = (sized(each, memory_mib) for each in (dict(offer), planned))
                    found[layouts, offer] = _Group(at, layouts, before, after, taken, len(taken) if same else 0)
    return found.values()


def _keep(groups: Sequence[_Group], wants: Sequence[Want], measures: Measures, late: Callable[[], bool]) -> None:
    """Let as many machines stay as they are as can while no less is served."""
    total = sum_of(_offer_after(group) for group in groups)
    least = sum(use_of(total, wants, measures).values()) - _CLOSE_MIB
    better = True
    while better:
        better = False
        for group in sorted(groups, key=lambda each: each.kept - len(each.machines)):
            step = len(group.machines) - group.kept
            while (step := min(step, len(group.machines) - group.kept)) and not late():
                changed = Counter(total)
                changed.update({name: count * step for name, count in group.today.items()})
                changed.subtract({name: count * step for name, count in group.planned.items()})
                if sum(use_of(changed, wants, measures).values()) >= least:
                    total, better = changed, True
                    group.kept += step
                else:
                    step //= 2


def _offer_after(group: _Group) -> Counter[str]:
    found: Counter[str] = Counter()
    found.update({name: count * group.kept for name, count in group.today.items()})
    found.update({name: count * (len(group.machines) - group.kept) for name, count in group.planned.items()})
    return found


def _offer_of(layouts: Iterable[Layout]) -> Counter[str]:
    found: Counter[str] = Counter()
    for layout in layouts:
        found.update(dict(layout))
    return found


# ---- the configurations ---------------------------------------------------------------------------------------------


def _pool_plans(
    pools: Sequence[Pool], groups: Sequence[_Group], wants: Sequence[Want], measures: Measures
) -> Iterable[PoolPlan]:
    offers = sum_of(pool.offer for pool in pools), sum_of(_offer_after(group) for group in groups)
    used = [(offer, use_of(offer, wants, measures)) for offer in offers]
    number = 0
    for at, pool in enumerate(pools):
        of_pool = [group for group in groups if group.pool == at]
        changing: defaultdict[tuple[Layout, ...], list[str]] = defaultdict(list)
        for group in of_pool:
            changing[group.layouts] += [machine.name for machine in group.machines[group.kept :]]
        configs = []
        for layouts, names in sorted(changing.items(), key=lambda pair: _order(pair[0])):
            if names:
                number += 1
                configs.append(Config(name=f"podberth-{number}", layouts=layouts, nodes=tuple(sorted(names))))
        yield PoolPlan(
            pool=pool,
            configs=tuple(configs),
            kept=tuple(sorted(machine.name for group in of_pool for machine in group.machines[: group.kept])),
            today_mib=_part(pool.offer, *used[0]),
            planned_mib=_part(sum_of(map(_offer_after, of_pool)), *used[1]),
        )


def _part(offer: Mapping[str, int], within: Mapping[str, int], used: Mapping[str, float]) -> float:
    """Return the MiB in use of ``offer``, a part of what all nodes offer (``within``) and have in use (``used``)."""
    return sum(used.get(name, 0.0) * count / within[name] for name, count in offer.items() if count)
