"""The product of two lists of terms selects what both select.

Implication never lies; applied twice, nothing changes.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podberth.kube.patch import Draft
from podberth.kube.selector import node_selector_matches
from podberth.mutation import affinity, terms

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

    assert node_selector_matches(terms.product(users, ours), labels, {}) == both


@given(expressions(), expressions(), LABELS)
def test_an_implied_expression_holds(one: dict[str, Any], other: dict[str, Any], labels: dict[str, str]) -> None:
    holds = [node_selector_matches([{"matchExpressions": [item]}], labels, {}) for item in (one, other)]

    assert not terms.expression_implies(one, other) or not holds[0] or holds[1]


@given(st.lists(TERMS, max_size=3), st.lists(TERMS, min_size=1, max_size=2), LABELS)
def test_requiring_twice_is_requiring_once(users: list[Any], ours: list[Any], selector: dict[str, str]) -> None:
    spec: dict[str, Any] = {"nodeSelector": selector}
    if users:
        spec["affinity"] = {"nodeAffinity": {affinity.REQUIRED[-2]: {"nodeSelectorTerms": users}}}
    draft = Draft({"spec": spec})
    affinity.require(draft, ours)

    assert affinity.require(draft, ours) is None
