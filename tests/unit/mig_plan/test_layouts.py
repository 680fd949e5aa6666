"""Layouts of pools: which there are, and that the best ones are found, against all that can be tried."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, count, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podberth.devices import mig_placement
from podberth.devices.mig import table_for
from podberth.devices.mig_tables import MigTable
from podberth.mig_plan.layouts import UNCUT, WHOLE, Choices, Layout, Solution, bound_of, layouts_of, solve


def a100() -> MigTable:
    table = table_for("NVIDIA-A100-SXM4-40GB")
    assert table is not None
    return table


PROFILES = ("1g.5gb", "2g.10gb", "3g.20gb")
WORTH = {"1g.5gb": 4864.0, "2g.10gb": 9856.0, "3g.20gb": 19968.0, WHOLE: 40960.0}


def never() -> bool:
    return False


def worth_of(layouts: Sequence[Layout], demand: Mapping[str, int]) -> float:
    there: Counter[str] = Counter()
    for layout in layouts:
        there.update(dict(layout))
    return sum(WORTH[name] * min(wanted, there[name]) for name, wanted in demand.items())


def test_the_layouts_of_an_a100_are_those_to_which_nothing_can_be_added() -> None:
    assert layouts_of(["3g.20gb", "1g.5gb"], a100()) == (
        (("1g.5gb", 7),),
        (("1g.5gb", 4), ("3g.20gb", 1)),
        (("3g.20gb", 2),),
        UNCUT,
    )


def test_profiles_that_the_model_lacks_are_in_no_layout() -> None:
    assert layouts_of(["1g.10gb", "6g.70gb"], a100()) == ((("1g.10gb", 4),), UNCUT)
    assert layouts_of([], a100()) == (UNCUT,)


@given(profiles=st.sets(st.sampled_from(sorted(a100().rows)), max_size=4))
def test_every_layout_fits_and_none_is_within_another(profiles: set[str]) -> None:
    *cut, whole = layouts_of(sorted(profiles), a100())
    assert whole == UNCUT
    for layout in cut:
        names = [name for name, number in layout for _ in range(number)]
        assert mig_placement.fits(names, a100())
        assert not any(mig_placement.fits([*names, more], a100()) for more in profiles)


demands = st.fixed_dictionaries({name: st.integers(0, 9) for name in (*PROFILES, WHOLE)})
large_demands = st.fixed_dictionaries({name: st.integers(0, 900) for name in (*PROFILES, WHOLE)})


def pool(gpus: int, *profiles: str, table: MigTable | None = None) -> Choices:
    of_model = table or a100()
    return Choices(gpus=gpus, memory_mib=of_model.whole_gb * 1024, layouts=layouts_of(profiles, of_model))


def chosen(found: Solution) -> list[Layout]:
    assert found.layouts is not None
    return [layout for each in found.layouts for layout in Counter(each).elements()]


@given(gpus=st.integers(1, 4), demand=demands)
def test_a_small_pool_is_solved_exactly(gpus: int, demand: dict[str, int]) -> None:
    choices = pool(gpus, *PROFILES)
    best = max(worth_of(each, demand) for each in combinations_with_replacement(choices.layouts, gpus))
    found = solve([choices], demand, WORTH, never)
    assert found.exact
    assert found.worth == pytest.approx(best)
    assert len(chosen(found)) == gpus
    assert worth_of(chosen(found), demand) == pytest.approx(best)


@given(
    sizes=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    demand=demands,
    required=st.sets(st.sampled_from(PROFILES), max_size=3),
    floor=st.sampled_from([-1.0, 20_000.0, 60_000.0]),
)
def test_two_small_pools_are_solved_exactly_together(
    sizes: tuple[int, int], demand: dict[str, int], required: set[str], floor: float
) -> None:
    """With profiles that must be there, and a worth that must be exceeded."""
    pools = [pool(sizes[0], *PROFILES), pool(sizes[1], "1g.5gb", "3g.20gb")]
    wanted = {name: count for name, count in demand.items() if count}
    required &= wanted.keys()
    tried = [
        [*first, *second]
        for first, second in product(
            *(combinations_with_replacement(each.layouts, gpus) for each, gpus in zip(pools, sizes, strict=True))
        )
    ]
    worths = [worth_of(each, demand) for each in tried if required <= {name for layout in each for name, _ in layout}]
    best = max(worths, default=-1.0)
    found = solve(pools, demand, WORTH, never, required, floor)
    assert found.exact
    assert found.worth == pytest.approx(max(best, floor))
    assert (found.layouts is None) == (best <= floor)
    assert bound_of(pools, demand, WORTH) >= best - 1e-6
    if found.layouts is not None:
        assert [sum(each.values()) for each in found.layouts] == list(sizes)
        assert worth_of(chosen(found), demand) == pytest.approx(best)
        assert required <= {name for layout in chosen(found) for name, _ in layout}


@given(gpus=st.integers(1, 300), demand=large_demands)
def test_a_search_that_is_ended_says_how_far_it_may_be_from_the_best(gpus: int, demand: dict[str, int]) -> None:
    choices = [pool(gpus, *PROFILES)]
    hurried = solve(choices, demand, WORTH, lambda: True)
    steps: Iterator[int] = count()
    patient = solve(choices, demand, WORTH, lambda: next(steps) > 900)
    assert hurried.worth <= patient.worth <= hurried.bound + 1e-6
    assert patient.bound <= hurried.bound + 1e-6
    assert worth_of(chosen(hurried), demand) == pytest.approx(hurried.worth)
    assert len(chosen(hurried)) == len(chosen(patient)) == gpus


def test_a_large_pool_is_within_a_percent_of_its_bound() -> None:
    """More than all can be given; prices bring the bound close, and the layouts that are the best at them."""
    demand = {"1g.5gb": 9000, "2g.10gb": 4500, "3g.20gb": 3000, WHOLE: 800}
    steps: Iterator[int] = count()
    found = solve([pool(3200, *PROFILES)], demand, WORTH, lambda: next(steps) > 900)
    assert not found.exact
    assert found.worth > 0.99 * found.bound
    assert found.bound < 0.99 * 3200 * WORTH[WHOLE]


class Watched(dict[str, float]):
    """A mapping that counts how often it is read."""

    reads = 0

    def __getitem__(self, name: str) -> float:
        self.reads += 1
        return super().__getitem__(name)


def test_a_search_of_many_gpus_ends_soon_after_its_time() -> None:
    """After the end, no level of the search tries its other numbers of GPUs."""
    worth = Watched(WORTH)
    calls: Iterator[int] = count()
    demand = {"1g.5gb": 90_000, "2g.10gb": 45_000, "3g.20gb": 30_000, WHOLE: 8000}
    found = solve([pool(32_000, *PROFILES)], demand, worth, lambda: next(calls) > 900)
    assert not found.exact
    assert next(calls) == 902
    assert worth.reads < 20_000


def test_gpus_that_nobody_needs_stay_whole() -> None:
    [layouts] = solve([pool(5, "1g.5gb")], {"1g.5gb": 7}, WORTH, never).layouts or ()
    assert layouts == {(("1g.5gb", 7),): 1, UNCUT: 4}


def test_without_pools_nothing_is_served() -> None:
    assert solve([], {WHOLE: 1}, WORTH, never) == Solution(layouts=(), worth=0.0, bound=0.0)
