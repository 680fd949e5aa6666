"""The product of two lists of terms selects what both select.

Implication never lies; applied twice, nothing changes.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podberth.kube.patch import Draft
from podberth.kube.selector import node_selector_matches
from podberth.mutation import affinity, terms
from podberth.mutation.change import Skipped

KEYS = st.sampled_from(["a", "b"])
VALUES = st.sampled_from(["1", "2", "10"])


@st.composite
def expressions(draw: st.DrawFn) -> dict[str, Any]:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    least, most = {"In": (1, 3), "NotIn": (1, 3), "Gt": (1, 1), "Lt": (1, 1)}.get(operator, (0, 0))
    values = draw(st.lists(VALUES, min_size=least, max_size=most, unique=True))
    return {"key": draw(KEYS), "operator": operator} | ({"values": values} if values else {})


TERMS = st.fixed_dictionaries({"matchExpressions": st.lists(expressions(), min_size=1, max_size=2)})
LABELS = st.dictionaries(KEYS, VALUES, max_size=2)


@given(st.lists(TERMS, min_size=1, max_size=3), st.lists(TERMS, min_size=1, max_size=2), LABELS)
def test_the_product_selects_what_both_select(users: list[Any], ours: list[Any], labels: dict[str, str]) -> None:
    both = node_selector_matches(users, labels, {}) and node_selector_matches(ours, labels, {})

    joined = terms.product(map(terms.KnownTerm, users), list(map(terms.WantedTerm, ours)), affinity.MAX_TERMS)
    assert node_selector_matches(joined, labels, {}) == both


@given(expressions(), expressions(), LABELS)
def test_an_implied_expression_holds(one: dict[str, Any], other: dict[str, Any], labels: dict[str, str]) -> None:
    holds = [node_selector_matches([{"matchExpressions": [item]}], labels, {}) for item in (one, other)]

    implied = known(one).implies(wanted(other))
    assert not implied or not holds[0] or holds[1]


@given(st.lists(TERMS, max_size=3), st.lists(TERMS, min_size=1, max_size=2), LABELS)
def test_requiring_twice_is_requiring_once(users: list[Any], ours: list[Any], selector: dict[str, str]) -> None:
    spec: dict[str, Any] = {"nodeSelector": selector}
    if users:
        spec["affinity"] = {"nodeAffinity": {affinity.REQUIRED[-2]: {"nodeSelectorTerms": users}}}
    draft = Draft({"spec": spec})
    first = affinity.require(draft, ours)
    if isinstance(first, Skipped):
        assert draft.touched == frozenset()
        assert affinity.require(draft, ours) == first
    else:
        assert affinity.require(draft, ours) is None


@given(st.lists(TERMS, max_size=3), st.lists(TERMS, min_size=1, max_size=2), LABELS, LABELS)
def test_what_is_required_is_what_both_say_and_no_term_is_lost(
    users: list[Any], ours: list[Any], selector: dict[str, str], labels: dict[str, str]
) -> None:
    spec: dict[str, Any] = {"nodeSelector": selector}
    if users:
        spec["affinity"] = {"nodeAffinity": {affinity.REQUIRED[-2]: {"nodeSelectorTerms": users}}}
    draft = Draft({"spec": spec})
    change = affinity.require(draft, ours)
    held = draft.get(affinity.REQUIRED)
    chosen = all(labels.get(key) == value for key, value in selector.items())
    if isinstance(change, Skipped):
        # left out only where it would have left nothing
        assert not (chosen and matches(users or None, labels) and matches(ours, labels))
        return
    assert (chosen and matches(held, labels)) == (chosen and matches(users or None, labels) and matches(ours, labels))
    for user in users:
        assert any(all(e in item["matchExpressions"] for e in user["matchExpressions"]) for item in held)


def matches(terms: list[Any] | None, labels: dict[str, str]) -> bool:
    return terms is None or node_selector_matches(terms, labels, {})


@given(expressions(), expressions(), LABELS)
def test_a_contradiction_is_one(one: dict[str, Any], other: dict[str, Any], labels: dict[str, str]) -> None:
    both = node_selector_matches([{"matchExpressions": [one, other]}], labels, {})

    assert known(one).contradiction(wanted(other)) is None or not both


def known(expression: dict[str, Any]) -> terms.KnownTerm:
    return terms.KnownTerm({"matchExpressions": [expression]})


def wanted(expression: dict[str, Any]) -> terms.WantedTerm:
    return terms.WantedTerm({"matchExpressions": [expression]})
