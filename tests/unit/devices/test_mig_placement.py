from collections.abc import Sequence

import pytest

from podberth.devices import mig
from podberth.devices.mig_placement import PlacedInstance, _room, capacity, fits, placements, room
from podberth.devices.mig_tables import TABLES, MigTable


def table(product: str) -> MigTable:
    found = mig.table_for(product)
    assert found is not None
    return found


A30, A100, H100, RTX = map(
    table,
    ("NVIDIA A30", "NVIDIA A100-SXM4-40GB", "NVIDIA H100 NVL", "NVIDIA RTX PRO 6000 Blackwell Server Edition"),
)

# `nvidia-smi mig -lgipp`. A100 and A30: NVIDIA/go-nvml pkg/nvml/mock/gpus; H100 NVL: https://research.colfax-intl.com;
# RTX PRO 6000: {0,3,6,9}:3, {0,6}:6 and {0}:12, counted in units of three memory slices.
LISTED: tuple[tuple[MigTable, str, Sequence[int], int], ...] = (
    (A100, "1g.5gb", range(7), 1),
    (A100, "1g.5gb+me", range(7), 1),
    (A100, "1g.10gb", (0, 2, 4, 6), 2),
    (A100, "2g.10gb", (0, 2, 4), 2),
    (A100, "3g.20gb", (0, 4), 4),
    (A100, "4g.20gb", (0,), 4),
    (A100, "7g.40gb", (0,), 8),
    (H100, "1g.12gb", range(7), 1),
    (H100, "1g.24gb", (0, 2, 4, 6), 2),
    (H100, "2g.24gb", (0, 2, 4), 2),
    (H100, "3g.47gb", (0, 4), 4),
    (H100, "4g.47gb", (0,), 4),
    (H100, "7g.94gb", (0,), 8),
    (A30, "1g.6gb", range(4), 1),
    (A30, "2g.12gb", (0, 2), 2),
    (A30, "4g.24gb", (0,), 4),
    (RTX, "1g.24gb", range(4), 1),
    (RTX, "2g.48gb+me.all", (0, 2), 2),
    (RTX, "4g.96gb+gfx", (0,), 4),
)


@pytest.mark.parametrize(("model", "profile", "starts", "size"), LISTED)
def test_placements_are_those_that_the_driver_lists(
    model: MigTable, profile: str, starts: Sequence[int], size: int
) -> None:
    assert placements(profile, model) == tuple((start, size) for start in starts)


def test_a_profile_that_the_model_lacks_has_no_place() -> None:
    assert placements("1g.12gb", A100) == ()
    assert placements("nonsense", A100) == ()


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.name)
def test_the_maxima_of_the_tables_follow_from_the_placements(model: MigTable) -> None:
    uncounted = mig.live_table(model.name, tuple((profile, 0, 0) for profile in model.rows), None)
    assert uncounted is not None
    assert {profile: capacity(profile, uncounted) for profile in model.rows} == {
        profile: row.max_instances for profile, row in model.rows.items()
    }


@pytest.mark.parametrize(
    ("product", "profile", "maximum"),
    [
        ("NVIDIA A30", "1g.6gb", 4),
        ("NVIDIA-A100-SXM4-40GB", "1g.5gb", 7),
        ("NVIDIA-A100-SXM4-40GB", "1g.10gb", 4),
        ("NVIDIA-A100-SXM4-80GB", "nvidia.com/mig-1g.10gb", 7),
        ("NVIDIA H100 80GB HBM3", "1g.10gb", 7),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "2g.20gb", 3),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED", "3g.40gb", 2),
        ("NVIDIA H100 NVL", "1g.24gb", 4),
        ("NVIDIA H200", "1g.35gb", 4),
        ("NVIDIA GB300", "1g.35gb", 7),
        ("NVIDIA GB200", "1g.24gb", 7),
        ("NVIDIA B200", "7g.180gb", 1),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "1g.24gb-me", 4),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "1g.24gb+me", 1),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "2g.48gb", 2),
        ("NVIDIA RTX PRO 5000 Blackwell", "1g.24gb", 2),
        ("NVIDIA RTX PRO 4500 Blackwell", "1g.16gb+gfx", 2),
        ("NVIDIA A100-SXM4-40GB", "7g.80gb", 0),
        ("NVIDIA A100-SXM4-40GB", "1c.3g.20gb", 0),
        ("NVIDIA A100-SXM4-40GB", "nonsense", 0),
    ],
)
def test_the_capacity_depends_on_the_model_and_not_on_the_name_alone(product: str, profile: str, maximum: int) -> None:
    assert capacity(profile, table(product)) == maximum


# The maximal sets of the MIG user guide's A100 combination table, and of an A30.
SEVEN_SLICES = """
7x1g | 5x1g 1x2g | 4x1g 1x3g | 3x1g 2x2g | 3x1g 1x3g | 3x1g 1x4g | 2x1g 1x2g 1x3g | 1x1g 3x2g | 1x1g 1x2g 1x3g |
1x1g 1x2g 1x4g | 2x2g 1x3g | 2x3g | 1x3g 1x4g | 1x7g"""
FOUR_SLICES = "4x1g | 2x1g 1x2g | 2x2g | 1x4g"
PLAIN = {"A100-40GB": ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"), "A30": ("1g.6gb", "2g.12gb", "4g.24gb")}


def spelled_out(text: str, model: MigTable) -> set[tuple[str, ...]]:
    """Return each set of ``2x1g 1x3g | ...`` as sorted names of the model's plain profiles."""
    names = {name.partition(".")[0]: name for name in PLAIN[model.name]}
    return {
        tuple(
            sorted(
                names[slices] for count, slices in (one.split("x") for one in each.split()) for _ in range(int(count))
            )
        )
        for each in text.split("|")
    }


def layouts(model: MigTable, profiles: Sequence[str]) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """Return, by trying every layout, all sets of instances and those of layouts to which nothing can be added."""
    places = [
        (profile, frozenset(range(start, start + size)))
        for profile in profiles
        for start, size in placements(profile, model)
    ]
    every: set[tuple[str, ...]] = set()
    full: set[tuple[str, ...]] = set()

    def extend(following: int, taken: frozenset[int], names: tuple[str, ...]) -> None:
        every.add(tuple(sorted(names)))
        if all(taken & slices for _, slices in places):
            full.add(tuple(sorted(names)))
        for number in range(following, len(places)):
            profile, slices = places[number]
            if not taken & slices:
                extend(number + 1, taken | slices, (*names, profile))

    extend(0, frozenset(), ())
    return every, full


@pytest.mark.parametrize(("model", "sets", "count"), [(A100, SEVEN_SLICES, 14), (A30, FOUR_SLICES, 4)])
def test_the_maximal_sets_fit_and_are_all(model: MigTable, sets: str, count: int) -> None:
    wanted = spelled_out(sets, model)
    assert len(wanted) == count
    assert layouts(model, PLAIN[model.name])[1] == wanted
    assert all(fits(each, model) for each in wanted)


def test_with_the_big_memory_profile_there_are_38_maximal_sets_of_78() -> None:
    every, full = layouts(A100, (*PLAIN["A100-40GB"], "1g.10gb"))
    assert (len(every), len(full)) == (78, 38)
    assert ("1g.10gb",) * 4 in full
    assert tuple(sorted(("1g.10gb", "1g.10gb", "3g.20gb"))) in full
    assert all(fits(each, A100) for each in every)


@pytest.mark.parametrize(
    ("model", "names", "legal"),
    [
        (A100, ["3g.20gb", "nvidia.com/mig-3g.20gb"], True),
        (A100, ["3g.20gb", "3g.20gb", "1g.5gb"], False),
        (A100, ["1g.5gb+me", "1g.5gb", "2g.10gb", "3g.20gb"], True),
        (A100, ["1g.5gb+me", "1g.5gb.me"], False),
        (A100, ["4g.20gb", "4g.20gb"], False),
        (A100, ["1g.5gb"] * 8, False),
        (A100, ["1g.5gb"] * 100_000, False),
        (A100, ["1g.12gb"], False),
        (A100, ["", "1g.5gb"], False),
        (A100, [], True),
        # One instance has the media engines, whatever its size
        (A30, ["1g.6gb+me", "2g.12gb+me"], False),
        (A30, ["1g.6gb+me", "2g.12gb"], True),
        (RTX, ["1g.24gb+me.all", "1g.24gb-me", "2g.48gb-me"], True),
        (RTX, ["1g.24gb+me.all", "1g.24gb"], False),
        (RTX, ["1g.24gb+me.all", "1g.24gb+gfx"], False),
        (RTX, ["1g.24gb+me", "1g.24gb+gfx", "2g.48gb"], True),
        (table("NVIDIA Thor"), ["1g.0gb", "2g.0gb+gfx"], True),
        (table("NVIDIA Thor"), ["1g.0gb", "1g.0gb+me"], False),
        (table("NVIDIA Thor"), ["3g.0gb", "1g.0gb+gfx"], False),
    ],
)
def test_a_set_fits_if_its_places_and_its_engines_suffice(model: MigTable, names: list[str], legal: bool) -> None:
    assert fits(names, model) is legal


@pytest.mark.parametrize(
    ("profile", "present", "least", "most"),
    [
        ("1g.5gb", [], 7, 7),
        ("1g.5gb", [PlacedInstance("3g.20gb", 4, 4)], 4, 4),
        ("1g.5gb", [PlacedInstance("3g.20gb", 0, 4)], 3, 3),
        ("1g.5gb", [PlacedInstance("3g.20gb", 0, 3)], 4, 4),  # a node that says less than the rule
        ("1g.5gb", [PlacedInstance("3g.20gb")], 3, 4),  # nobody may read placements
        ("1g.10gb", [PlacedInstance("3g.20gb", 0)], 2, 2),
        ("3g.20gb", [PlacedInstance("1g.5gb", 0, 1), PlacedInstance("1g.5gb", 6, 1)], 0, 0),
        ("3g.20gb", [PlacedInstance("1g.5gb"), PlacedInstance("1g.5gb")], 0, 1),
        ("1g.5gb+me", [PlacedInstance("1g.5gb+me", 0, 1)], 0, 0),
        ("2g.10gb", [PlacedInstance("2g.10gb", 0), PlacedInstance("2g.10gb", 2)], 1, 1),
        ("7g.40gb", [PlacedInstance("1g.5gb")], 0, 0),
        ("1g.12gb", [], 0, 0),
        ("1g.5gb", [PlacedInstance("1g.12gb")], 0, 0),
        ("1g.5gb", [PlacedInstance("4g.20gb"), PlacedInstance("4g.20gb")], 0, 0),
    ],
)
def test_the_room_depends_on_the_places_of_present_instances(
    profile: str, present: list[PlacedInstance], least: int, most: int
) -> None:
    assert room(profile, present, A100) == (least, most)


def test_the_live_node_wins_over_the_table() -> None:
    # A driver that calls the halves 3g.39gb, and a board that allows five of the smallest.
    live = mig.live_table(
        "A100-80GB", (("1g.10gb", 5, 9728), ("3g.39gb", 2, 0), ("7g.79gb", 1, 0)), table("NVIDIA A100X")
    )
    assert live is not None
    assert capacity("1g.10gb", live) == 5
    assert not fits(["1g.10gb"] * 6, live)
    assert fits(["3g.39gb", "3g.39gb"], live)
    assert capacity("3g.40gb", live) == 0
    assert capacity("3g.40gb", table("NVIDIA A100X")) == 2


def test_a_name_that_no_table_has_is_not_remembered() -> None:
    """A pod may have a name of a megabyte."""
    before = _room.cache_info().currsize
    assert capacity("1g." + "9" * 1_000_000 + "gb", A100) == 0
    assert _room.cache_info().currsize == before
