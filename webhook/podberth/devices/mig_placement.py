"""Finds which MIG instances fit on one GPU together, by a search over the documented placements.

A GPU instance takes adjacent memory slices. The start is a multiple of the size, and enough compute slices must be
left. This rule gives the list of ``nvidia-smi mig -lgipp``, with starts and size in memory slices: on 7-slice parts 1g
{0..6}:1, 1g with double memory {0,2,4,6}:2, 2g {0,2,4}:2, 3g {0,4}:4, 4g {0}:4, 7g {0}:8 (NVIDIA/go-nvml
pkg/nvml/mock/gpus/a100.go; an H100 NVL's listing, https://research.colfax-intl.com). On 4-slice parts 1g {0..3}:1, 2g
{0,2}:2, 4g {0}:4 (a30.go; an RTX PRO 6000 has each number times three: 1g {0,3,6,9}:3). A set of instances is possible
if the instances have placements that do not overlap, if no profile occurs more often than the model allows, and if
there are enough media engines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .mig import Profile, parse
from .mig_tables import MigTable

# The number of remembered answers. A cluster's GPUs have few layouts; invented ones only evict others from the cache.
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True, order=True)
class PlacedInstance:
    """An existing MIG instance. ``start`` and ``size`` are in memory slices; None if the placement is unknown."""

    profile: str
    start: int | None = None
    size: int | None = None


def placements(name: str, table: MigTable) -> tuple[tuple[int, int], ...]:
    """Return the possible placements of a MIG profile on a GPU model, each as (start, size) in memory slices.

    Empty if the model lacks the profile. The size depends on the model: an instance 1g.10gb has one memory slice on a
    GPU of 80 GB, and two memory slices on an A100 of 40 GB.
    """
    found = _row(name, table)
    if found is None:
        return ()
    size = round(found.memory_gb * table.memory_slices / table.whole_gb) if table.whole_gb else found.slices
    size = min(max(size, 1), table.memory_slices)
    starts = range(0, table.memory_slices - size + 1, size)
    return tuple((start, size) for start in starts if start + found.slices <= table.slices)


def fits(names: Iterable[str], table: MigTable) -> bool:
    """Return whether one GPU of the model can be partitioned into instances of all profiles ``names`` at once.

    False if the model lacks one of the profiles.
    """
    wanted = _few(names, table)
    return wanted is not None and _together(wanted, table) and bool(_layouts(wanted, table, frozenset({0})))


def capacity(name: str, table: MigTable) -> int:
    """Return the largest number of instances of a MIG profile that one whole GPU of the model holds."""
    return room(name, (), table)[1]


def room(name: str, present: Iterable[PlacedInstance], table: MigTable) -> tuple[int, int]:
    """Return (minimum, maximum) of the instances of a profile that still fit on a GPU beside the ``present`` instances.

    The two numbers differ if the placement of a present instance is unknown: a 3g at slice 4 leaves room for four 1g, a
    3g at slice 0 for three. The result is (0, 0) if the model lacks the profile, or if the present instances contradict
    each other.
    """
    # The cache key is the profile from the table, and not the name in a pod, which may have any length.
    profile = _row(name, table)
    return (0, 0) if profile is None else _room(profile, tuple(sorted(present, key=repr)), table)


@lru_cache(maxsize=_REMEMBERED)
def _room(profile: Profile, present: tuple[PlacedInstance, ...], table: MigTable) -> tuple[int, int]:
    there = _few((one.profile for one in present), table)
    if there is None:
        return 0, 0
    fixed, free = 0, []
    for one in present:
        if one.start is None:
            free.append(parse(one.profile).name)
        else:
            size = one.size or next((size for _, size in placements(one.profile, table)), 1)
            fixed |= _mask(one.start, size)
    counts = [_more(profile.name, there, table, layout) for layout in _layouts(free, table, frozenset({fixed}))]
    return (min(counts), max(counts)) if counts else (0, 0)


def _more(name: str, there: Sequence[str], table: MigTable, taken: int) -> int:
    """Return how many instances of a profile can be added to a GPU beside the present instances.

    ``there`` are the profiles of the present instances, and ``taken`` is the bit mask of the instances' memory slices.
    """
    count, layouts = 0, frozenset({taken})
    while _together([*there, *[name] * (count + 1)], table):
        layouts = _layouts([name], table, layouts)
        if not layouts:
            break
        count += 1
    return count


def _layouts(names: Iterable[str], table: MigTable, taken: frozenset[int]) -> frozenset[int]:
    """Return the sets of memory slices that may be in use after instances of ``names`` are placed, as bit masks.

    ``taken`` has the sets that may be in use before. There are at most 2 ** 8 masks, so the time is bounded by the
    number of instances.
    """
    for name in names:
        masks = [_mask(start, size) for start, size in placements(name, table)]
        taken = frozenset(before | mask for before in taken for mask in masks if not before & mask)
    return taken


def _mask(start: int, size: int) -> int:
    return ((1 << size) - 1) << start


def _together(names: Sequence[str], table: MigTable) -> bool:
    """Return whether one GPU of the model may have the instances ``names`` together; placements are not checked.

    The number of instances of each profile and their media engines are checked. Only one instance may have the media
    engines (``+me``). An instance with ``+me.all`` takes the engines from all other instances, which then have ``-me``.
    A GPU without separate memory (Thor) may have one compute and one graphics instance at most (MIG user guide,
    "Supported MIG profiles").
    """
    for name in set(names):
        most = table.rows[name].max_instances
        if most and names.count(name) > most:
            return False
    profiles = [parse(name) for name in names]
    extended = [one for one in profiles if not one.without and {"me", "me.all"} & set(one.attributes)]
    if len(extended) > 1:
        return False
    if any("me.all" in one.attributes for one in extended) and not all(
        _is_bare(one) for one in profiles if one not in extended
    ):
        return False
    graphics = sum("gfx" in one.attributes for one in profiles)
    return bool(table.whole_gb) or max(graphics, len(profiles) - graphics) <= 1


def _is_bare(profile: Profile) -> bool:
    """Return whether an instance of the profile has no media engine."""
    return profile.without and "me" in profile.attributes


def _few(names: Iterable[str], table: MigTable) -> list[str] | None:
    """Return the profile names in canonical spelling; None if ``table`` lacks a name, or if there are too many names.

    There are too many names if the GPU has fewer memory slices.
    """
    found: list[str] = []
    for name in names:
        profile = _row(name, table)
        if profile is None or len(found) == table.memory_slices:
            return None
        found.append(profile.name)
    return found


def _row(name: str, table: MigTable) -> Profile | None:
    """Return the parsed profile of a name in any spelling; None if the GPU model lacks the profile."""
    try:
        profile = parse(name)
    except ValueError:
        return None
    return profile if profile.name in table.rows else None
