"""Plans the MIG layouts of a fleet for a demand, and compares them with today's."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Final

from ..devices import mig
from ..devices.mig_tables import MigTable
from ..devices.resources import recognise
from ..topology.capability import capability_of
from ..topology.node import Node
from .demand import Demand, Need
from .layouts import WHOLE, Layout, Solution, layouts_of, solve_offering

_GPU: Final = "nvidia.com/gpu"
_GPU_COUNT: Final = "nvidia.com/gpu.count"
_NOTHING: Final = "-"
"""The key of needs that no GPU is large enough for."""
_COUNTS: Final = frozenset(map(str, range(1, 65)))
_MOST_PROFILES: Final = 7
"""The most profiles that layouts are tried with; the choices double with each."""

Offer = Mapping[str, int]
"""A mapping from profile, and WHOLE, to the number of instances and of whole GPUs that nodes offer."""


@dataclass(frozen=True, slots=True)
class Served:
    """How much of a demand nodes serve."""

    memory_mib: int
    """The MiB that the pods that get a place need; a pod with whole GPUs needs all their memory."""
    waiting: tuple[tuple[Need, int], ...]
    """(need, number of pods without a place), sorted; a part of a pod is counted as a pod."""


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
        return _sum(Counter(dict(machine.offer)) for machine in self.machines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A configuration of mig-parted: the layout of each GPU of a node."""

    name: str
    layouts: tuple[Layout, ...]
    """By the index of the GPU."""
    nodes: tuple[str, ...]
    changed: tuple[str, ...]
    """The nodes among ``nodes`` that offer something else today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """The layouts of one pool."""

    pool: Pool
    configs: tuple[Config, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The layouts of a fleet, and how much of the demand they serve."""

    pools: tuple[PoolPlan, ...]
    """Empty if nothing better than today's layouts was found."""
    today: Served
    planned: Served
    bound_mib: int
    """The most MiB that any layouts may serve; as much as ``planned`` serves if no layouts serve more."""
    demand_mib: int
    """The MiB that all pods of the demand need; those of whole GPUs are counted with the memory of the smallest."""
    machines: int
    """The number of nodes in all pools."""
    left_out: tuple[tuple[str, int], ...]
    """(reason, number of nodes) of the nodes with NVIDIA GPUs that are in no pool."""

    @property
    def keeps(self) -> bool:
        """Whether nothing better than today's layouts was found; then ``planned`` is ``today``."""
        return not self.pools

    @property
    def exact(self) -> bool:
        """Whether it is certain that no layouts serve more than ``planned``."""
        return self.planned.memory_mib >= self.bound_mib


def plan(nodes: Iterable[Node], demand: Demand, *, clock: Callable[[], float], seconds: float = 10.0) -> Plan:
    """Return layouts that serve more memory of a demand than today's by the measure of ``served``, if some are found.

    A need of memory gets the smallest profile that is offered and large enough, as the policy ``mig-right-size`` asks
    for it, or a whole GPU where none is. So every choice of profiles to offer is tried, the largest choices first. For
    each choice, the pools are planned one after the other, those for which fewer needs have a profile first.

    Args:
        nodes: the fleet; nodes without NVIDIA GPUs are passed over.
        demand: the number of pods of each need.
        clock: returns the time in seconds; only differences count.
        seconds: the time for the whole search.
    """
    pools, left_out = _pools(nodes)
    end = clock() + seconds
    today = served(_sum(pool.offer for pool in pools), pools, demand)
    best = today
    solutions: tuple[Solution, ...] = ()
    demand_mib = _mib(demand, pools)
    most = float(min(demand_mib, sum(pool.gpus * pool.memory_mib for pool in pools)))
    choices, complete = _choices(pools, demand)
    reached = 0.0
    for index, sizes in enumerate(choices):
        if index and clock() > end:
            complete = False
            break
        share = (end - clock()) / (len(choices) - index)
        tried = _solutions(pools, demand, sizes, clock, share)
        reached = max(reached, sum(solution.bound for solution in tried))
        found = served(_sum(_offer_of(solution.layouts) for solution in tried), pools, demand)
        if found.memory_mib > best.memory_mib:
            best, solutions = found, tried
    # What a pool leaves for the next is no search, so the bound of several pools is none of the fleet.
    bound = min(most, reached) if complete and len(pools) == 1 else most
    return Plan(
        pools=tuple(_configured(pools, solutions)) if solutions else (),
        today=today,
        planned=best,
        bound_mib=max(best.memory_mib, round(bound)),
        demand_mib=demand_mib,
        machines=sum(len(pool.machines) for pool in pools),
        left_out=left_out,
    )


def served(offer: Offer, pools: Sequence[Pool], demand: Demand) -> Served:
    """Return how much of a demand nodes serve that offer so many instances and whole GPUs.

    Of the pods that want the same profile, those get a place that come first; here each need gets its share.
    """
    sizes = {name: size for name, size in _sizes(pools).items() if offer.get(name, 0) > 0}
    whole_mib, largest_mib = _whole_mib(pools), _largest_mib(pools)
    wanting: defaultdict[str, list[tuple[Need, int]]] = defaultdict(list)
    for need, count in sorted(demand.items()):
        wanting[_profile(need, sizes, largest_mib)].append((need, count))
    memory, waiting = 0.0, []
    for profile, needs in wanting.items():
        units = sum((need.gpus or 1) * count for need, count in needs)
        share = min(1.0, offer.get(profile, 0) / units)
        for need, count in needs:
            placed = count * share
            memory += placed * _need_mib(need, sizes, whole_mib)
            if missing := count - int(placed + 1e-9):
                waiting.append((need, missing))
    return Served(round(memory), tuple(sorted(waiting)))


def _is_over(clock: Callable[[], float], until: float) -> bool:
    return clock() > until


# ---- the pools ------------------------------------------------------------------------------------------------------


def _pools(nodes: Iterable[Node]) -> tuple[tuple[Pool, ...], tuple[tuple[str, int], ...]]:
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


def _sizes(pools: Iterable[Pool], *, parts: bool = False) -> dict[str, int]:
    """Return the MiB of each profile of the pools; the least, if pools differ. Profiles with extensions have none.

    With ``parts``, the profiles of a whole GPU have none: a whole GPU without MIG does the same for more pods.
    """
    found: dict[str, int] = {}
    for pool in pools:
        for name in pool.table.rows:
            is_whole = mig.parse(name).memory_gb == pool.table.whole_gb
            if not set(name) & {"+", "-"} and not (parts and is_whole):
                size = mig.memory_mib(name, pool.table)
                found[name] = min(size, found.get(name, size))
    return found


# ---- the needs ------------------------------------------------------------------------------------------------------


def _profile(need: Need, sizes: Mapping[str, int], largest_mib: int) -> str:
    """Return the profile that a need gets where profiles of these sizes are offered.

    The result is WHOLE if none is large enough, and _NOTHING if no GPU is: none has more than ``largest_mib``.
    """
    if need.gpus:
        return WHOLE
    if need.memory_mib > largest_mib:
        return _NOTHING
    return need.profile or mig.smallest(need.memory_mib, sizes) or WHOLE


def _mib(demand: Demand, pools: Sequence[Pool]) -> int:
    sizes, whole_mib = _sizes(pools), _whole_mib(pools)
    return sum(_need_mib(need, sizes, whole_mib) * count for need, count in demand.items())


def _need_mib(need: Need, sizes: Mapping[str, int], whole_mib: int) -> int:
    return need.memory_mib or sizes.get(need.profile, 0) or need.gpus * whole_mib


def _whole_mib(pools: Sequence[Pool]) -> int:
    return min((pool.memory_mib for pool in pools), default=0)


def _largest_mib(pools: Sequence[Pool]) -> int:
    return max((pool.memory_mib for pool in pools), default=0)


def _choices(pools: Sequence[Pool], demand: Demand) -> tuple[tuple[Mapping[str, int], ...], bool]:
    """Return (the choices of profiles to offer, whether they are all), each with the MiB of its profiles.

    A profile that no need gets is no part of a choice. Choices with the profile of a whole GPU come last: a whole GPU
    without MIG does the same for more pods.
    """
    sizes, parts, largest_mib = _sizes(pools), _sizes(pools, parts=True), _largest_mib(pools)
    named = {need.profile for need in demand}
    wanted = [need.memory_mib for need in demand if need.memory_mib]
    names = [name for name, size in sizes.items() if name in named or (wanted and size >= min(wanted))]
    # Those that needs get where all parts are offered are kept, if not all can be.
    natural: Counter[str] = Counter()
    for need, count in demand.items():
        natural[_profile(need, parts, largest_mib)] += count
    kept = sorted(names, key=lambda name: (-natural[name], name))[:_MOST_PROFILES]
    subsets = [frozenset(chosen) for size in range(len(kept) + 1) for chosen in combinations(kept, size)]
    found: dict[frozenset[str], Mapping[str, int]] = {}
    for subset in sorted(subsets, key=lambda each: (len(each - parts.keys()), -len(each), sorted(each))):
        offered = {name: sizes[name] for name in sorted(subset)}
        used = frozenset(_profile(need, offered, largest_mib) for need in demand).intersection(offered)
        found.setdefault(used, {name: sizes[name] for name in sorted(used)})
    return tuple(found.values()), len(kept) == len(names)


def _solutions(
    pools: Sequence[Pool], demand: Demand, sizes: Mapping[str, int], clock: Callable[[], float], seconds: float
) -> tuple[Solution, ...]:
    """Return the solution of each pool if the profiles with these sizes are offered, in at most so many seconds.

    Empty if there are too few GPUs to offer all of the profiles.
    """
    whole_mib, largest_mib = _whole_mib(pools), _largest_mib(pools)
    remaining: Counter[str] = Counter()
    needed: Counter[str] = Counter()
    for need, count in demand.items():
        profile = _profile(need, sizes, largest_mib)
        remaining[profile] += count * (need.gpus or 1)
        needed[profile] += count * _need_mib(need, sizes, whole_mib)
    worth = {name: needed[name] / count for name, count in remaining.items()}
    end = clock() + seconds
    found: dict[str, Solution] = {}
    for at, pool in enumerate(sorted(pools, key=lambda each: sum(remaining[name] for name in each.table.rows))):
        here = [name for name in pool.table.rows if name in sizes and remaining[name]]
        until = clock() + (end - clock()) / (len(pools) - at)
        layouts = layouts_of(tuple(here), pool.table)
        wanted = {name: remaining[name] for name in (*here, WHOLE)}
        solution = solve_offering(
            pool.gpus,
            layouts,
            wanted,
            {WHOLE: 0.0, **worth},
            partial(_is_over, clock, until),
            # Of several pools, another may offer a profile; else a need would get another than was planned for.
            frozenset(here if len(pools) == 1 else ()),
        )
        if solution is None:
            return ()
        for layout, count in solution.layouts.items():
            for profile, instances in layout:
                remaining[profile] = max(0, remaining[profile] - instances * count)
        found[pool.table.name] = solution
    return tuple(found[pool.table.name] for pool in pools)


# ---- the configurations ---------------------------------------------------------------------------------------------


def _configured(pools: Sequence[Pool], solutions: Sequence[Solution]) -> Iterable[PoolPlan]:
    number = 0
    for pool, solution in zip(pools, solutions, strict=True):
        configs = []
        for layouts, nodes, changed in _assigned(pool, solution):
            number += 1
            configs.append(Config(name=f"podberth-{number}", layouts=layouts, nodes=nodes, changed=changed))
        yield PoolPlan(pool=pool, configs=tuple(configs))


def _assigned(pool: Pool, solution: Solution) -> list[tuple[tuple[Layout, ...], tuple[str, ...], tuple[str, ...]]]:
    """Return (the layout of each GPU, the nodes, those among them that change) for each different node.

    Machines with more GPUs come first. A node keeps what it offers today if some node is to have that.
    """
    pending = [layout for layout, count in sorted(solution.layouts.items()) for _ in range(count)]
    by_size: defaultdict[int, list[Machine]] = defaultdict(list)
    for machine in pool.machines:
        by_size[machine.gpus].append(machine)
    found: list[tuple[tuple[Layout, ...], tuple[str, ...], tuple[str, ...]]] = []
    for size, machines in sorted(by_size.items(), reverse=True):
        wanted: Counter[tuple[Layout, ...]] = Counter()
        for _ in machines:
            wanted[tuple(pending[:size])] += 1
            del pending[:size]
        free = list(machines)
        kept: defaultdict[tuple[Layout, ...], list[str]] = defaultdict(list)
        for layouts, count in wanted.items():
            offer = tuple(sorted(_offer_of(Counter(layouts)).items()))
            same = [machine for machine in free if machine.offer == offer][:count]
            kept[layouts] = [machine.name for machine in same]
            free = [machine for machine in free if machine not in same]
        for layouts, count in sorted(wanted.items()):
            changed = [free.pop(0).name for _ in range(count - len(kept[layouts]))]
            found.append((layouts, tuple(sorted([*kept[layouts], *changed])), tuple(changed)))
    return found


def _offer_of(layouts: Mapping[Layout, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for layout, count in layouts.items():
        for profile, instances in layout:
            found[profile] += instances * count
    return found


def _sum(offers: Iterable[Mapping[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in offers:
        found.update(each)
    return found
