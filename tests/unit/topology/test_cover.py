from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from podberth.conventions import Conventions, LabelKey
from podberth.topology import cover as cover_module
from podberth.topology.cover import Cover, LabelledNodes, cover

CONVENTIONS = Conventions(
    ignored_labels=frozenset({"kubernetes.io/hostname", "serial"}),
    label_keys=(LabelKey("product"), LabelKey("count", number=True), LabelKey("memory", number=True)),
)
Labels = Sequence[Mapping[str, str]]


def covered(wanted: Labels, others: Labels, conventions: Conventions = CONVENTIONS) -> Cover:
    """Cover kinds of two nodes each."""
    return cover(
        [LabelledNodes(one, 2) for one in wanted], [LabelledNodes(one, 2) for one in others], conventions=conventions
    )


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


@pytest.mark.parametrize(
    ("wanted", "others", "said"),
    [
        ([{"product": "a"}], [{"product": "b"}], expression("product", "In", "a")),
        ([{"product": "b"}, {"product": "a"}], [{"product": "c"}], expression("product", "In", "a", "b")),
        ([{"product": "a"}, {"product": "b"}], [{}], expression("product", "Exists")),
        ([{"product": "a"}], [{}], expression("product", "In", "a")),
        ([{}], [{"product": "a"}, {"product": "b"}], expression("product", "DoesNotExist")),
        ([{}, {"product": "a"}], [{"product": "b"}], expression("product", "NotIn", "b")),
        ([{"product": p} for p in "abcd"], [{"product": "x"}], expression("product", "NotIn", "x")),
        ([{"count": "8", "pool": "1"}], [{"count": "4", "pool": "2"}], expression("count", "In", "8")),
        ([{"zone": "a", "pool": "1"}], [{"zone": "b", "pool": "2"}], expression("pool", "In", "1")),
        (
            [{"zone": "a", "pool": "1"}, {"zone": "a", "pool": "2"}],
            [{"zone": "b", "pool": "3"}],
            expression("zone", "In", "a"),
        ),
    ],
)
def test_one_label_that_separates_is_found_by_meaning_then_plainness(
    wanted: Labels, others: Labels, said: dict[str, Any]
) -> None:
    found = covered(wanted, others)
    assert found.terms == ({"matchExpressions": [said]},)
    assert found.exact


@pytest.mark.parametrize(
    ("wanted", "others", "said"),
    [
        ([{"memory": "81559"}, {"memory": "143771"}], [{"memory": "23034"}, {}], expression("memory", "Gt", "81558")),
        ([{"count": "1"}, {"count": "2"}], [{"count": "4"}, {"count": "8"}], expression("count", "Lt", "3")),
        # What is between cannot be said by one comparison, and "10" < "9" is for strings only.
        ([{"count": "2"}, {"count": "4"}], [{"count": "1"}, {"count": "8"}], expression("count", "In", "2", "4")),
        ([{"count": "10"}, {"count": "9"}], [{"count": "8"}, {"count": "2"}], expression("count", "Gt", "8")),
        ([{"count": "4"}, {"count": "x"}], [{"count": "1"}, {"count": "2"}], expression("count", "In", "4", "x")),
        # A number only where the conventions say that more is better.
        ([{"rack": "4"}, {"rack": "5"}], [{"rack": "1"}, {"rack": "2"}], expression("rack", "In", "4", "5")),
    ],
)
def test_amounts_are_compared(wanted: Labels, others: Labels, said: dict[str, Any]) -> None:
    assert covered(wanted, others).terms == ({"matchExpressions": [said]},)


def test_several_keys_stand_in_one_term_where_one_is_not_enough() -> None:
    found = covered([{"product": "a", "count": "8"}], [{"product": "a", "count": "4"}, {"product": "b", "count": "8"}])
    both = [expression("product", "In", "a"), expression("count", "In", "8")]
    assert found.terms == ({"matchExpressions": both},)


def test_several_terms_stand_beside_each_other_where_one_is_not_enough() -> None:
    wanted = [{"product": "a", "count": "8"}, {"product": "b", "count": "4"}]
    others = [{"product": "a", "count": "4"}, {"product": "b", "count": "8"}]
    found = covered(wanted, others)
    assert found.terms == (
        {"matchExpressions": [expression("product", "In", "a"), expression("count", "In", "8")]},
        {"matchExpressions": [expression("product", "In", "b"), expression("count", "In", "4")]},
    )
    assert covered(wanted[::-1], others[::-1]) == found


def test_meaning_beats_brevity() -> None:
    wanted = [{"product": "a", "count": "8", "pool": "x"}]
    others = [{"product": "a", "count": "4", "pool": "y"}, {"product": "b", "count": "8", "pool": "y"}]
    keys = [one["key"] for one in covered(wanted, others).terms[0]["matchExpressions"]]
    assert keys == ["product", "count"]


def test_no_hostname_and_no_ignored_label_is_ever_used() -> None:
    wanted = [{"kubernetes.io/hostname": "a", "serial": "1"}]
    others = [{"kubernetes.io/hostname": "b", "serial": "2"}]
    ranked = Conventions(
        ignored_labels=frozenset({"serial"}), label_keys=(LabelKey("serial"), LabelKey("kubernetes.io/hostname"))
    )
    for conventions in (CONVENTIONS, ranked):
        assert not covered(wanted, others, conventions).exact


def test_a_label_whose_values_belong_to_single_nodes_is_a_name() -> None:
    wanted, others = [LabelledNodes({"asset": "1"}), LabelledNodes({"asset": "2"})], [LabelledNodes({"asset": "3"})]
    assert not cover(wanted, others, conventions=CONVENTIONS).exact
    assert cover([LabelledNodes({"asset": "1"}, 2), wanted[1]], others, conventions=CONVENTIONS).exact
    assert cover([*wanted, LabelledNodes({"asset": "2", "other": "x"})], others, conventions=CONVENTIONS).exact


def test_a_label_with_meaning_may_name_the_one_node_of_its_kind() -> None:
    found = cover([LabelledNodes({"product": "a"})], [LabelledNodes({"product": "b"})], conventions=CONVENTIONS)
    assert found.terms == ({"matchExpressions": [expression("product", "In", "a")]},)


@pytest.mark.parametrize(("wanted", "others"), [([], []), ([{"a": "b"}], []), ([], [{"a": "b"}])])
def test_where_there_is_nothing_to_distinguish_nothing_is_said(wanted: Labels, others: Labels) -> None:
    assert covered(wanted, others) == Cover((), exact=True)


def test_where_labels_do_not_distinguish_nodes_the_terms_come_as_near_as_they_can() -> None:
    found = covered([{"product": "a"}], [{"product": "a"}, {"product": "b"}])
    assert found == Cover(({"matchExpressions": [expression("product", "In", "a")]},), exact=False)
    assert covered([{"product": "a"}], [{"product": "a"}]) == Cover((), exact=False)


def test_what_nobody_would_read_is_no_answer() -> None:
    values = cover_module.MAX_VALUES + 1
    wanted = [{"product": f"a{number}"} for number in range(values)]
    others = [{"product": f"b{number}"} for number in range(values)]
    assert covered(wanted, others) == Cover((), exact=False, too_long=True)
    pooled = [{**one, "pool": "x"} for one in wanted]
    assert covered(pooled, others).terms == ({"matchExpressions": [expression("pool", "In", "x")]},)


def test_terms_are_limited_in_number() -> None:
    count = cover_module.MAX_TERMS + 1
    wanted = [{"product": f"a{number}", "count": str(number)} for number in range(count)]
    others = [
        {"product": f"a{one}", "count": str(other)} for one in range(count) for other in range(count) if one != other
    ]
    assert covered(wanted, others).too_long
    fewer = [one for one in others if one["product"] != "a8" and one["count"] != "8"]
    assert len(covered(wanted[:-1], fewer).terms) == cover_module.MAX_TERMS
