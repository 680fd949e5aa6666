"""A gang whose roles ask for different things: the levels are compared with every way to place its pods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from node_builders import GPU, need_of, node_manifest, nodes_of
from podberth.conventions import Conventions
from podberth.topology.index import Need, TopologyIndex
from podberth.topology.whole_gang import Roles

HOST, RACK, ROW = "kubernetes.io/hostname", "example.com/rack", "example.com/row"
CONVENTIONS = Conventions(levels=(ROW, RACK, HOST), ignored_labels=frozenset({HOST, RACK}))


@dataclass(frozen=True)
class Machine:
    """A node as the brute force sees it."""

    gpus: int
    rack: str
    row: str
    pool: str

    def domain(self, level: str) -> str:
        return {RACK: self.rack, ROW: self.row}[level]


MACHINES = st.lists(
    st.builds(
        Machine,
        gpus=st.sampled_from((2, 4, 8)),
        rack=st.sampled_from(("a", "a", "b", "")),
        row=st.sampled_from(("1", "1", "")),
        pool=st.sampled_from(("x", "x", "y")),
    ),
    min_size=1,
    max_size=4,
)
ASKED = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from((1, 2, 4, 8)), st.sampled_from(("", "", "x", "y"))),
    min_size=2,
    max_size=3,
    unique_by=lambda role: role[1:],
)
Asked = tuple[int, int, str]


def index_of(machines: Sequence[Machine]) -> TopologyIndex:
    documents = [
        node_manifest(
            f"n-{number}",
            devices={GPU: str(each.gpus)},
            labels={key: value for key, value in ((RACK, each.rack), (ROW, each.row), ("pool", each.pool)) if value},
        )
        for number, each in enumerate(machines)
    ]
    return TopologyIndex.build(nodes_of(documents), CONVENTIONS)


def need(role: Asked) -> Need:
    return need_of(role[1], pod_spec={"nodeSelector": {"pool": role[2]}} if role[2] else {})


def roles_of(asked: Sequence[Asked]) -> Roles:
    return tuple((role[0], need(role)) for role in asked)


def fits(machine: Machine, role: Asked) -> bool:
    return machine.gpus >= role[1] and role[2] in ("", machine.pool)


def domains(machines: Sequence[Machine], asked: Sequence[Asked], level: str) -> Iterator[tuple[Machine, ...]]:
    fitting = [each for each in machines if any(fits(each, role) for role in asked)]
    if level == HOST:
        yield from ((each,) for each in fitting)
        return
    for value in {each.domain(level) for each in fitting} - {""}:
        yield tuple(each for each in fitting if each.domain(level) == value)


def places(domain: tuple[Machine, ...], asked: tuple[Asked, ...]) -> tuple[bool, bool]:
    """Return whether some way places all pods, and whether every way does."""

    @cache
    def ways(left: tuple[int, ...], waiting: tuple[int, ...]) -> tuple[bool, bool]:
        if not any(waiting):
            return True, True
        found = []
        for role, count in enumerate(waiting):
            if not count:
                continue
            rest = (*waiting[:role], count - 1, *waiting[role + 1 :])
            free = [
                at for at, gpus in enumerate(left) if gpus >= asked[role][1] and asked[role][2] in ("", domain[at].pool)
            ]
            found += [ways((*left[:at], left[at] - asked[role][1], *left[at + 1 :]), rest) for at in free]
            if not free:
                found.append((False, False))
        return any(some for some, _ in found), all(every for _, every in found)

    return ways(tuple(each.gpus for each in domain), tuple(count for count, _, _ in asked))


@given(MACHINES, ASKED)
def test_a_level_has_a_domain_that_holds_the_gang_and_a_safe_one_nothing_else(
    machines: list[Machine], asked: list[Asked]
) -> None:
    narrowest, safe = index_of(machines).levels(roles_of(asked))
    if narrowest:
        assert any(places(each, tuple(asked))[0] for each in domains(machines, asked, narrowest))
    if safe:
        assert all(places(each, tuple(asked))[1] for each in domains(machines, asked, safe))


@given(MACHINES, ASKED)
def test_of_machines_and_needs_that_halve_each_other_none_is_overlooked(
    machines: list[Machine], asked: list[Asked]
) -> None:
    """Without choices of nodes the greedy way is the best one, and the narrowest level is the first that holds all."""
    anywhere = list({role[1]: (role[0], role[1], "") for role in asked}.values())
    if len(anywhere) < 2:
        return
    expected = next(
        (
            level
            for level in (HOST, RACK, ROW)
            if any(places(each, tuple(anywhere))[0] for each in domains(machines, anywhere, level))
        ),
        "",
    )
    assert index_of(machines).levels(roles_of(anywhere))[0] == expected


@given(MACHINES, ASKED)
def test_the_order_of_the_roles_makes_no_difference(machines: list[Machine], asked: list[Asked]) -> None:
    index, other = index_of(machines), list(reversed(asked))
    assert index.levels(roles_of(asked))[1] == index.levels(roles_of(other))[1]


@given(MACHINES, st.integers(1, 3), st.integers(1, 3), st.sampled_from((1, 2, 4, 8)))
def test_two_roles_that_ask_for_the_same_are_as_one(machines: list[Machine], one: int, other: int, gpus: int) -> None:
    index, same = index_of(machines), need_of(gpus)
    nodes = index.nodes(same)
    expected = nodes.narrowest_level(one + other), nodes.narrowest_safe_level(one + other)
    assert index.levels(((one, same), (other, same))) == expected


def test_a_role_of_which_nobody_knows_what_it_takes_has_no_level() -> None:
    index = index_of([Machine(8, "a", "1", "x")] * 2)
    assert index.levels(((1, need_of(8)), (1, Need()))) == ("", "")
