"""Node labels are required where the user has not chosen a value of the label, by selector or by affinity."""

from typing import Any

import pytest

from builders import pod
from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.kube.schema import PodSchema
from podberth.mutation.change import Change, Proposal, Skipped
from podberth.mutation.concern import Surroundings
from podberth.mutation.concerns.node_selector import CONCERN
from podberth.mutation.membership import NOTHING_KNOWN


def terms(*each: tuple[str, str, list[str]]) -> dict[str, Any]:
    """Return the field ``affinity`` with one required term for each expression."""
    wanted = [
        {"matchExpressions": [{"key": key, "operator": operator, "values": values}]} for key, operator, values in each
    ]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": wanted}}}


def select(draft: Draft, values: dict[str, Any], nodes: int = 0) -> Change | Skipped | None:
    """Apply the mutation, where ``nodes`` nodes are left for pods without the label ``a``, and none for others."""

    def left(trial: Draft) -> int:
        return 0 if "a" in (trial.get(("spec", "nodeSelector")) or {}) else nodes

    surroundings = Surroundings(lambda: NOTHING_KNOWN, "", None, PodSchema.packaged(), nodes_left=left)
    return CONCERN.build(draft, Proposal(concern="nodeSelector", leaves=values), surroundings)


@pytest.mark.parametrize("present", [{}, {"nodeSelector": None}, {"nodeSelector": {}}])
def test_labels_are_set_once(present: dict[str, Any]) -> None:
    draft = Draft(pod(**present))
    change = select(draft, {"b": "2", "a": "1", "none": None, "empty": ""})

    assert isinstance(change, Change)
    assert change.wrote == draft.get(("spec", "nodeSelector")) == {"a": "1", "b": "2", "empty": ""}
    assert change.describe() == "requires node label a=1, b=2, empty="
    assert select(draft, {"b": "2", "a": "1"}) is None


def test_the_users_value_stays_and_other_keys_are_added() -> None:
    draft = Draft(pod(nodeSelector={"a": "mine"}))
    change = select(draft, {"a": "ours", "b": "2"})

    assert isinstance(change, Change)
    assert change.wrote == {"b": "2"}
    assert draft.get(("spec", "nodeSelector")) == {"a": "mine", "b": "2"}


def test_a_label_that_the_users_terms_fix_is_not_written() -> None:
    assert select(Draft(pod(affinity=terms(("a", "In", ["1"])))), {"a": "1"}) is None
    assert isinstance(select(Draft(pod(affinity=terms(("a", "In", ["1", "2"])))), {"a": "1"}), Change)
    assert isinstance(select(Draft(pod(affinity=terms(("a", "In", ["1"]), ("b", "Exists", [])))), {"a": "1"}), Change)


def test_labels_that_contradict_all_of_the_users_terms_are_left_out() -> None:
    draft = Draft(pod(affinity=terms(("a", "NotIn", ["1"]), ("a", "In", ["2"]))))
    skipped = select(draft, {"a": "1", "b": "2"})

    assert isinstance(skipped, Skipped)
    assert skipped.reason == "it wants a in (1), and the pod's node affinity says a not in (1)"
    assert draft.patch() == []


@pytest.mark.parametrize(("nodes", "kind"), [(0, Change), (1, Skipped)])
def test_labels_that_contradict_some_terms_are_left_out_where_no_known_node_meets_the_rest(
    nodes: int, kind: type
) -> None:
    draft = Draft(pod(affinity=terms(("a", "In", ["2"]), ("b", "In", ["1"]))))

    assert isinstance(select(draft, {"a": "1"}, nodes), kind)


@pytest.mark.parametrize("value", [1, "a b", "-", "a" * 64, ["a"]])
def test_a_value_that_no_label_can_have_is_the_policys_error(value: object) -> None:
    with pytest.raises(EvaluationError, match=r"^nodeSelector\[a\]: got .*, want a label value of at most 63"):
        select(Draft(pod()), {"a": value})
