"""Terms select the wanted nodes and no other known one, always; and no fewer terms or expressions would do.

Minimality is against brute force that knows nothing of boxes: every set of values of a key is an expression, every
choice of them a term, every set of terms tried, smaller ones first.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement, product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from podberth.conventions import Conventions, LabelKey
from podberth.kube.selector import node_selector_matches
from podberth.topology import cover as cover_module
from podberth.topology.boxes import Row, fewest
from podberth.topology.cover import LabelledNodes, cover
from properties import examples

Labels = Mapping[str, str]

KEYS = ("product", "count", "zone")
CONVENTIONS = Conventions(
    ignored_labels=frozenset({"serial"}),
    label_keys=(LabelKey("product"), LabelKey("count", number=True), LabelKey("zone")),
)
VALUES = {
    "product": st.sampled_from(("a", "b", "c")),
    "count": st.sampled_from(("1", "2", "10", "x")),
    "zone": st.sampled_from(("a", "b")),
}
LABELS = st.fixed_dictionaries(
    {}, optional={**VALUES, "serial": st.sampled_from("12"), "pool": st.sampled_from("ab"), "team": st.just("x")}
)
CLUSTERS = st.tuples(st.lists(LABELS, min_size=1, max_size=8), st.lists(LABELS, min_size=1, max_size=8))

thorough = settings(max_examples=examples(400))


def kinds(labels: Sequence[Labels], nodes: int = 2) -> list[LabelledNodes]:
    return [LabelledNodes(one, nodes) for one in labels]


def usable(labels: Labels) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key != "serial"}


@thorough
@given(CLUSTERS)
def test_the_terms_are_exact_wherever_labels_distinguish_the_nodes(cluster: tuple[list[Labels], list[Labels]]) -> None:
    wanted, others = cluster
    found = cover(kinds(wanted), kinds(others), conventions=CONVENTIONS)
    distinct = [one for one in others if all(usable(one) != usable(each) for each in wanted)]
    assert found.exact == (len(distinct) == len(others))
    if distinct:
        assert all(node_selector_matches(found.terms, labels, {}) for labels in wanted)
        assert not any(node_selector_matches(found.terms, labels, {}) for labels in distinct)
    else:
        assert found.terms == ()


@thorough
@given(CLUSTERS, st.randoms(use_true_random=False))
def test_the_order_of_nodes_says_nothing(cluster: tuple[list[Labels], list[Labels]], random: object) -> None:
    wanted, others = (list(labels) for labels in cluster)
    found = cover(kinds(wanted), kinds(others), conventions=CONVENTIONS)
    random.shuffle(wanted)  # type: ignore[attr-defined]
    random.shuffle(others)  # type: ignore[attr-defined]
    assert cover(kinds(wanted), kinds([*others, *others]), conventions=CONVENTIONS) == found


@thorough
@given(CLUSTERS)
def test_a_name_is_never_used(cluster: tuple[list[Labels], list[Labels]]) -> None:
    wanted, others = (
        [{**one, "id": f"{side}{place}"} for place, one in enumerate(labels)]
        for side, labels in zip("wo", cluster, strict=True)
    )
    found = cover(kinds(wanted, 1), kinds(others, 1), conventions=CONVENTIONS)
    assert {e["key"] for term in found.terms for e in term["matchExpressions"]}.isdisjoint({"id", "serial"})


# ---- minimality -----------------------------------------------------------------------------------------------------
ROWS = st.tuples(*(st.sampled_from(("a", "b", None)) for _ in range(3)))


def every_box() -> Iterator[tuple[int, tuple[frozenset[str | None], ...]]]:
    """Yield every term over three keys of two values, with its number of expressions."""
    values = ("a", "b", None)
    sets = [frozenset(some) for size in (1, 2, 3) for some in combinations(values, size)]
    for box in product(sets, repeat=3):
        yield sum(len(allowed) < len(values) for allowed in box), box


BOXES = sorted(every_box(), key=lambda each: each[0])


def least(wanted: set[Row], others: set[Row]) -> tuple[int, int]:
    """Return the least number of terms, and with so many terms the least number of expressions, by trying all."""
    useful: dict[frozenset[Row], int] = {}
    for expressions, box in BOXES:
        if not any(all(v in allowed for v, allowed in zip(row, box, strict=True)) for row in others):
            inside = frozenset(row for row in wanted if all(v in a for v, a in zip(row, box, strict=True)))
            if inside:
                useful.setdefault(inside, expressions)
    for count in range(1, len(wanted) + 1):
        sizes = [
            sum(useful[inside] for inside in some)
            for some in combinations_with_replacement(useful, count)
            if frozenset().union(*some) == wanted
        ]
        if sizes:
            return count, min(sizes)
    raise AssertionError("each wanted row is a box of its own")


@settings(max_examples=examples(200))
@given(st.sets(ROWS, min_size=1, max_size=5), st.sets(ROWS, min_size=1, max_size=7))
def test_no_fewer_terms_and_expressions_would_do(wanted: set[Row], others: set[Row]) -> None:
    others -= wanted
    assume(others)
    found = fewest(wanted, others, lambda key, _allowed, _outside: key, most=cover_module.MAX_TERMS)
    assert found is not None
    assert (len(found), sum(len(box.keys) for box in found)) == least(wanted, others)


@settings(max_examples=examples(60))
@given(st.sets(st.tuples(*(st.sampled_from("abcdef") for _ in range(4))), min_size=30, max_size=200), st.data())
def test_boxes_are_exact_even_when_the_steps_run_out(rows: set[Row], data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.sampled_from(sorted(rows, key=str)), min_size=1, max_size=len(rows) - 1))
    others = rows - wanted
    found = fewest(wanted, others, lambda key, _allowed, _outside: key, most=len(wanted))
    assert found is not None
    assert sorted(row for box in found for row in box.rows) == sorted(wanted)
    for box in found:
        assert not any(all(row[key] in box.allowed(key) for key in box.keys) for row in others)
