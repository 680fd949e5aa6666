"""Layouts of a pool: which there are, and that the best ones are found, against all that can be tried."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podberth.devices import mig_placement
from podberth.devices.mig import table_for
from podberth.devices.mig_tables import MigTable
from podberth.mig_plan.layouts import UNCUT, WHOLE, Layout, layouts_of, solve


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
    assert layouts_of(("1g.5gb", "3g.20gb"), a100()) == (
        (("1g.5gb", 7),),
        (("1g.5gb", 4), ("3g.20gb", 1)),
        (("3g.20gb", 2),),
        UNCUT,
    )


def test_profiles_that_the_model_lacks_are_in_no_layout() -> None:
    assert layouts_of(("1g.10gb", "6g.70gb"), a100()) == ((("1g.10gb", 4),), UNCUT)
    assert layouts_of((), a100()) == (UNCUT,)


@given(profiles=st.sets(st.sampled_from(sorted(a100().rows)), max_size=4))
def test_every_layout_fits_and_none_is_within_another(profiles: set[str]) -> None:
    *cut, whole = layouts_of(tuple(sorted(profiles)), a100())
    assert whole == UNCUT
    for layout in cut:
        names = [name for name, number in layout for _ in range(number)]
        assert mig_placement.fits(names, a100())
        assert not any(mig_placement.fits([*names, more], a100()) for more in profiles)


demands = st.fixed_dictionaries({name: st.integers(0, 9) for name in (*PROFILES, WHOLE)})
large_demands = st.fixed_dictionaries({name: st.integers(0, 900) for name in (*PROFILES, WHOLE)})


@given(gpus=st.integers(1, 4), demand=demands)
def test_a_small_pool_is_solved_exactly(gpus: int, demand: dict[str, int]) -> None:
    layouts = layouts_of(PROFILES, a100())
    best = max(worth_of(each, demand) for each in combinations_with_replacement(layouts, gpus))
    found = solve(gpus, layouts, demand, WORTH, never)
    assert found.bound <= found.worth
    assert found.worth == pytest.approx(best)
    chosen = list(Counter(found.layouts).elements())
    assert len(chosen) == gpus
    assert worth_of(chosen, demand) == pytest.approx(best)


@given(gpus=st.integers(1, 300), demand=large_demands)
def test_a_search_that_is_ended_says_how_far_it_may_be_from_the_best(gpus: int, demand: dict[str, int]) -> None:
    layouts = layouts_of(PROFILES, a100())
    hurried = solve(gpus, layouts, demand, WORTH, lambda: True)
    steps: Iterator[int] = count()
    patient = solve(gpus, layouts, demand, WORTH, lambda: next(steps) > 300)
    assert hurried.worth <= patient.worth <= hurried.bound + 1e-6
    assert worth_of(list(Counter(hurried.layouts).elements()), demand) == pytest.approx(hurried.worth)
    assert sum(hurried.layouts.values()) == sum(patient.layouts.values()) == gpus


def test_gpus_that_nobody_needs_stay_whole() -> None:
    assert solve(5, layouts_of(("1g.5gb",), a100()), {"1g.5gb": 7}, WORTH, never).layouts == {
        (("1g.5gb", 7),): 1,
        UNCUT: 4,
    }
