"""Selectors evaluated for many label sets at once select what they select one by one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podberth.kube.selector import LabelRequirements, LabelSets

KEYS = st.sampled_from(("a", "b", "c", ""))
VALUES = st.sampled_from(("x", "y", ""))
LABELS = st.dictionaries(KEYS, VALUES)
OPERATORS = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", None))
REQUIREMENTS = st.fixed_dictionaries(
    {"key": KEYS, "operator": OPERATORS}, optional={"values": st.lists(VALUES, max_size=3)}
)
SELECTORS = st.none() | st.fixed_dictionaries(
    {}, optional={"matchLabels": LABELS, "matchExpressions": st.lists(REQUIREMENTS, max_size=3)}
)


@given(sets=st.lists(LABELS, max_size=5), selector=SELECTORS)
def test_a_selector_selects_the_same_of_all_label_sets_at_once(
    sets: list[dict[str, str]], selector: dict[str, Any] | None
) -> None:
    one_by_one = {place for place, labels in enumerate(sets) if LabelRequirements(selector).match(labels)}
    assert LabelSets(sets).selected(selector) == one_by_one
