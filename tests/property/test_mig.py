"""MIG: names survive the way there and back, and the solver agrees with trying every layout."""

from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from podberth.devices import mig
from podberth.devices.mig import Profile
from podberth.devices.mig_nearest import suggestions
from podberth.devices.mig_placement import PlacedInstance, capacity, fits, placements, room
from podberth.devices.mig_tables import TABLES, MigTable

ATTRIBUTES = st.sampled_from(["me", "me.all", "gfx", "x1"])


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    slices = draw(st.integers(1, 99))
    compute = draw(st.one_of(st.just(0), st.integers(1, slices)))
    attributes = tuple(sorted(draw(st.sets(ATTRIBUTES, max_size=1))))
    return Profile(
        slices=slices,
        memory_gb=draw(st.integers(0, 9999)),
        attributes=attributes,
        without=bool(attributes) and draw(st.booleans()),
        compute=0 if compute == slices else compute,
    )


@given(profiles())
def test_a_name_that_is_rendered_parses_to_the_same(profile: Profile) -> None:
    assert mig.parse(profile.name) == profile
    assert mig.parse(f"MIG {profile.name}") == profile
    if not profile.compute:
        assert mig.parse(profile.resource) == profile
        assert mig.parse(profile.resource + mig.SHARED_SUFFIX) == profile


@given(st.text(alphabet="0123456789cgbme.+-,MIG all\u0660", max_size=24))
def test_whatever_parses_renders_to_what_parses_to_the_same(text: str) -> None:
    try:
        profile = mig.parse(text)
    except ValueError:
        return
    assert mig.parse(profile.name) == profile


MODELS = st.sampled_from(TABLES)


@st.composite
def wishes(draw: st.DrawFn, most: int = 5) -> tuple[MigTable, list[str]]:
    table = draw(MODELS)
    return table, draw(st.lists(st.sampled_from(sorted(table.rows)), max_size=most))


def places(table: MigTable, names: list[str]) -> bool:
    """Try every combination of places, without regard to counts and engines."""
    choices = [[frozenset(range(s, s + size)) for s, size in placements(name, table)] for name in names]
    return any(sum(map(len, one)) == len(frozenset().union(*one)) for one in product(*choices))


@given(wishes())
def test_the_solver_finds_a_layout_where_there_is_one(wish: tuple[MigTable, list[str]]) -> None:
    table, names = wish
    plain = [name for name in names if not mig.parse(name).attributes]
    if table.whole_gb and all(plain.count(name) <= table.rows[name].max_instances for name in plain):
        assert fits(plain, table) == places(table, plain)
    if fits(names, table):
        assert places(table, names)


@given(wishes(), st.randoms(use_true_random=False))
def test_what_fits_does_not_depend_on_order_and_so_does_any_part_of_it(
    wish: tuple[MigTable, list[str]], random: Random
) -> None:
    table, names = wish
    shuffled = random.sample(names, len(names))
    assert fits(shuffled, table) == fits(names, table)
    if fits(names, table):
        assert all(fits([*names[:i], *names[i + 1 :]], table) for i in range(len(names)))


@given(wishes(most=3), st.data())
def test_what_still_fits_is_what_fits_together(wish: tuple[MigTable, list[str]], data: st.DataObject) -> None:
    table, names = wish
    name = data.draw(st.sampled_from(sorted(table.rows)))
    least, most = room(name, [PlacedInstance(each) for each in names], table)
    assert 0 <= least <= most <= capacity(name, table)
    if fits(names, table):
        assert fits([*names, *[name] * most], table)
        assert not fits([*names, *[name] * (most + 1)], table)


@given(MODELS, st.data())
def test_the_node_that_says_otherwise_is_believed(table: MigTable, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(table.rows)))
    most = data.draw(st.integers(1, table.rows[name].max_instances))
    offers = tuple((each, most if each == name else 0, 1) for each in table.rows)
    live = mig.live_table(table.name, offers, table)
    assert live is not None
    assert capacity(name, live) == most
    assert all(mig.memory_mib(each, live) == 1 for each in table.rows)


@given(st.text(max_size=200), MODELS)
def test_suggestions_are_candidates_each_once(name: str, table: MigTable) -> None:
    found = suggestions(name, table.rows)
    assert set(found) <= set(table.rows)
    assert len(found) == len(set(found))


@given(MODELS, st.data())
def test_a_name_that_is_right_is_its_own_first_suggestion(table: MigTable, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(table.rows)))
    assert suggestions(mig.parse(name).resource, table.rows)[0] == name
