"""Places for connections: accepted and displaced ones."""

from podberth.port.byte_budget import CONNECTION_BYTES, HANDSHAKE_BYTES, LEVELS, MemoryBudget
from podberth.port.slots import GRACE_SECONDS, Places


class Caller:
    """A connection that records that it was displaced."""

    displaced = False

    def displace(self) -> None:
        self.displaced = True


def callers(places: Places, count: int, now: float = 0.0) -> list[Caller]:
    found = [Caller() for _ in range(count)]
    assert all(places.enter(each, now) for each in found)
    return found


def test_a_newcomer_takes_the_place_of_the_oldest_that_has_proven_nothing() -> None:
    places = Places(most=3)
    known, first, second = callers(places, 3)
    places.prove(known)
    assert places.enter(Caller(), GRACE_SECONDS)
    assert (known.displaced, first.displaced, second.displaced) == (False, True, False)
    assert (len(places), places.displaced) == (3, 1)


def test_nobody_is_displaced_within_its_grace() -> None:
    places = Places(most=2)
    young = callers(places, 2)
    assert not places.enter(Caller(), GRACE_SECONDS / 2)
    assert not any(each.displaced for each in young)


def test_nobody_is_displaced_where_all_have_proven_something() -> None:
    places = Places(most=2)
    for each in callers(places, 2):
        places.prove(each)
    assert not places.enter(Caller(), 100.0)


def test_so_many_can_be_proven_and_the_others_go_on_as_they_are() -> None:
    places = Places(most=3, most_proven=1)
    first, second, _ = callers(places, 3)
    places.prove(first)
    places.prove(second)
    assert places.enter(Caller(), GRACE_SECONDS)
    assert (first.displaced, second.displaced) == (False, True)


def test_a_place_is_charged_more_until_its_handshake_is_done() -> None:
    budget = MemoryBudget()
    places = Places(budget)
    first, second = callers(places, 2)
    assert budget.used["connections"] == 2 * HANDSHAKE_BYTES
    places.settle(first)
    places.settle(first)
    assert budget.used["connections"] == HANDSHAKE_BYTES + CONNECTION_BYTES
    for each in (first, second, second):
        places.leave(each)
    assert (len(places), budget.used["connections"]) == (0, 0)


def test_the_oldest_connections_give_way_if_memory_is_short() -> None:
    budget = MemoryBudget({**LEVELS, "connections": HANDSHAKE_BYTES + CONNECTION_BYTES})
    places = Places(budget)
    [settled] = callers(places, 1)
    places.settle(settled)
    [shaking] = callers(places, 1)
    assert not places.enter(Caller(), 0.0)
    newest = Caller()
    assert places.enter(newest, GRACE_SECONDS)
    assert (settled.displaced, shaking.displaced, newest.displaced) == (True, True, False)
