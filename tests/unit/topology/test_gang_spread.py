"""The domains over which gangs are spread."""

import pytest

from podberth.topology.gang_spread import BoundGang, spreads
from podberth.topology.node import Node

LEVELS = ["zone", "block", "rack"]
NODES = [
    Node(name="a", labels={"zone": "z", "block": "b-0", "rack": "r-0"}),
    Node(name="b", labels={"zone": "z", "block": "b-0", "rack": "r-1"}),
    Node(name="c", labels={"zone": "z", "block": "b-1", "rack": "r-2"}),
    Node(name="bare"),
]


def gang(*nodes: str, devices: int = 8) -> BoundGang:
    return BoundGang(namespace="team", name="train", source="Job", size=4, nodes=nodes, devices=devices)


@pytest.mark.parametrize(
    ("nodes", "within", "over"),
    [
        (("a", "a"), ("rack", "r-0"), None),
        (("a", "b", "b"), ("block", "b-0"), ("rack", (("r-1", 2), ("r-0", 1)))),
        (("a", "b", "c"), ("zone", "z"), ("block", (("b-0", 2), ("b-1", 1)))),
        (("a", "bare"), None, ("zone", (("", 1), ("z", 1)))),
        (("bare", "gone"), None, None),
    ],
)
def test_a_gang_is_within_one_domain_and_divided_at_the_next_level(
    nodes: tuple[str, ...], within: tuple[str, str] | None, over: tuple[str, tuple[tuple[str, int], ...]] | None
) -> None:
    [found] = spreads([gang(*nodes)], NODES, LEVELS)
    assert (found.within, found.over) == (within, over)


def test_gangs_with_most_devices_come_first() -> None:
    found = spreads([gang("a", devices=1), gang("b", devices=9)], NODES, LEVELS)
    assert [each.gang.devices for each in found] == [9, 1]
