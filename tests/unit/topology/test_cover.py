from collections.abc import Mapping
from typing import Any

import pytest

from podberth.conventions import Conventions
from podberth.topology.cover import cover

CONVENTIONS = Conventions(
    ignored_labels=frozenset({"kubernetes.io/hostname", "serial"}), label_ranks=("product", "count")
)
Labels = list[Mapping[str, str]]


@pytest.mark.parametrize(
    ("wanted", "others", "expression"),
    [
        ([{"product": "a"}], [{"product": "b"}], {"key": "product", "operator": "In", "values": ["a"]}),
        (
            [{"product": "b"}, {"product": "a"}],
            [{"product": "c"}],
            {"key": "product", "operator": "In", "values": ["a", "b"]},
        ),
        ([{"product": "a"}, {"product": "b"}], [{}], {"key": "product", "operator": "Exists"}),
        ([{"product": "a"}], [{}], {"key": "product", "operator": "In", "values": ["a"]}),
        ([{}], [{"product": "a"}, {"product": "b"}], {"key": "product", "operator": "DoesNotExist"}),
        ([{}, {"product": "a"}], [{"product": "b"}], {"key": "product", "operator": "NotIn", "values": ["b"]}),
        (
            [{"product": p} for p in "abcd"],
            [{"product": "x"}],
            {"key": "product", "operator": "NotIn", "values": ["x"]},
        ),
        (
            [{"count": "8", "pool": "1"}],
            [{"count": "4", "pool": "2"}],
            {"key": "count", "operator": "In", "values": ["8"]},
        ),
        (
            [{"zone": "a", "pool": "1"}],
            [{"zone": "b", "pool": "2"}],
            {"key": "pool", "operator": "In", "values": ["1"]},
        ),
        (
            [{"zone": "a", "pool": "1"}, {"zone": "a", "pool": "2"}],
            [{"zone": "b", "pool": "3"}],
            {"key": "zone", "operator": "In", "values": ["a"]},
        ),
    ],
)
def test_one_label_that_separates_is_found_by_meaning_then_plainness(
    wanted: Labels, others: Labels, expression: dict[str, Any]
) -> None:
    found = cover(wanted, others, conventions=CONVENTIONS)
    assert found.terms == ({"matchExpressions": [expression]},)
    assert found.exact


def test_no_hostname_and_no_ignored_label_is_ever_used() -> None:
    wanted = [{"kubernetes.io/hostname": "a", "serial": "1"}]
    others = [{"kubernetes.io/hostname": "b", "serial": "2"}]
    for conventions in (CONVENTIONS, Conventions(ignored_labels=frozenset({"serial"}), label_ranks=("serial",))):
        assert not cover(wanted, others, conventions=conventions).exact


@pytest.mark.parametrize(("wanted", "others"), [([], []), ([{"a": "b"}], []), ([], [{"a": "b"}])])
def test_where_there_is_nothing_to_tell_apart_nothing_is_said(wanted: Labels, others: Labels) -> None:
    found = cover(wanted, others, conventions=CONVENTIONS, telling="size")
    assert (found.terms, found.exact, found.missing_label) == ((), True, "")


def test_the_label_that_would_tell_is_named_unless_all_have_it() -> None:
    same = {"product": "a"}
    assert cover([same], [same], conventions=CONVENTIONS, telling="size").missing_label == "size"
    sized = {"product": "a", "size": "4"}
    assert cover([sized], [sized], conventions=CONVENTIONS, telling="size").missing_label == ""
    assert not cover([same], [same], conventions=CONVENTIONS, telling="size").exact
