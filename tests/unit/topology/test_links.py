import pytest

from podberth.topology.links import level_between, links_of
from podberth.topology.observation import Observation, ObservedGpu, ObservedLink, ObservedPair, PciPlace

SWITCHES = (ObservedLink(peer="switch"),) * 4


def place(path: str, numa: int | None = 0) -> PciPlace:
    return PciPlace(numa_node=numa, path=tuple(path.split("/")) if path else ())


def gpu(index: int, links: tuple[ObservedLink, ...] | None = ()) -> ObservedGpu:
    return ObservedGpu(index=index, address=f"0000:0{index}:00.0", links=links)


def to(*indexes: int) -> tuple[ObservedLink, ...]:
    return tuple(ObservedLink(peer="gpu", address=f"0000:0{index}:00.0") for index in indexes)


@pytest.mark.parametrize(
    ("one", "other", "level"),
    [
        (place("pci0000:00/01.0/up/down0/a"), place("pci0000:00/01.0/up/down1/b"), "PIX"),
        (place("pci0000:00/01.0/up/down0/up2/down2/a"), place("pci0000:00/01.0/up/down1/b"), "PXB"),
        (place("pci0000:00/01.0/a"), place("pci0000:00/02.0/b"), "PHB"),
        (place("pci0000:00/01.0/a"), place("pci0000:40/01.0/b"), "NODE"),
        (place("pci0000:00/01.0/a", 0), place("pci0000:40/01.0/b", 1), "SYS"),
        (place("pci0000:00/01.0/a", None), place("pci0000:40/01.0/b", None), "NODE"),
        (place("pci0000:00"), place("pci0000:00/01.0/a"), "PHB"),
        (place("pci0000:00/01.0/a"), place("pci0000:00/01.0/a/b/c/d"), "PXB"),
        (place(""), place("pci0000:40/01.0/b"), "?"),
    ],
)
def test_the_way_between_two_devices_follows_from_their_places(one: PciPlace, other: PciPlace, level: str) -> None:
    assert level_between(one, other) == level_between(other, one) == level


def test_what_the_library_says_about_a_pair_comes_before_the_places() -> None:
    places = {f"0000:0{n}:00.0": place(f"pci0000:0{n}/a") for n in (0, 1)}
    both = Observation(gpus=(gpu(0), gpu(1)), places=places, pairs={(0, 1): ObservedPair(level=30)})
    assert links_of(both).levels == (("X", "PHB"), ("PHB", "X"))
    assert links_of(Observation(gpus=(gpu(0), gpu(1)), places=places)).levels == (("X", "NODE"), ("NODE", "X"))
    assert links_of(Observation(gpus=(gpu(0), gpu(1)))).levels == (("X", "?"), ("?", "X"))


def test_a_level_that_nobody_knows_is_unknown() -> None:
    pairs = {(0, 1): ObservedPair(level=60)}
    assert links_of(Observation(gpus=(gpu(0), gpu(1)), pairs=pairs)).levels[0] == ("X", "?")


def test_a_link_that_one_end_reports_is_enough() -> None:
    assert links_of(Observation(gpus=(gpu(0, to(1, 1)), gpu(1)))).levels == (("X", "NV2"), ("NV2", "X"))


def test_through_switches_go_as_many_links_as_the_weaker_end_has() -> None:
    gpus = gpu(0, SWITCHES), gpu(1, SWITCHES[:3])
    assert links_of(Observation(gpus=gpus)).levels == (("X", "NV3"), ("NV3", "X"))


def test_links_to_others_link_no_gpus() -> None:
    other = (ObservedLink(peer="other"),) * 6
    links = links_of(Observation(gpus=(gpu(0, other), gpu(1, other))))
    assert (links.shape, links.domains) == ("none", ())


def test_a_gpu_whose_links_could_not_be_read_makes_the_shape_unknown() -> None:
    assert links_of(Observation(gpus=(gpu(0), gpu(1, None)))).shape == "unknown"


def test_a_gpu_whose_links_could_not_be_read_is_in_no_domain() -> None:
    links = links_of(Observation(gpus=(gpu(0, to(1, 2)), gpu(1, to(0)), gpu(2, None))))
    assert (links.shape, links.domains) == ("islands", ((0, 1),))


def test_one_gpu_is_linked_with_nobody() -> None:
    links = links_of(Observation(gpus=(gpu(0, SWITCHES),)))
    assert (links.shape, links.domains, links.levels) == ("none", (), (("X",),))


def test_where_groups_overlap_the_larger_one_is_kept() -> None:
    """A triangle and a pair that share a GPU."""
    links = links_of(Observation(gpus=(gpu(0, to(1)), gpu(1, to(0, 2, 3)), gpu(2, to(1, 3)), gpu(3, to(1, 2)), gpu(4))))
    assert (links.shape, links.domains) == ("islands", ((1, 2, 3),))


def test_groups_whose_indexes_alternate_are_found_without_trying_all_gpus_with_each_other() -> None:
    groups = [tuple(range(start, 64, 8)) for start in range(8)]
    gpus = [gpu(each, to(*(other for other in groups[each % 8] if other != each))) for each in range(64)]
    assert links_of(Observation(gpus=tuple(gpus))).domains == tuple(groups)
