"""Our terms are joined to the user's; nothing of theirs is lost, and nothing is added that they imply."""

from typing import Any

import pytest

from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.mutation import affinity
from podberth.mutation.change import Change, Skipped


def term(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    expression: dict[str, Any] = {"key": key, "operator": operator}
    return {"matchExpressions": [expression | ({"values": list(values)} if values else {})]}


def pod(*required: dict[str, Any], selector: dict[str, str] | None = None) -> Draft:
    spec: dict[str, Any] = {"nodeSelector": selector} if selector else {}
    if required:
        node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(required)}}
        spec["affinity"] = {"nodeAffinity": node}
    return Draft({"spec": spec})


H100 = term("product", "H100")
ZONE_A, ZONE_B = term("zone", "a"), term("zone", "b")


def test_a_pod_without_terms_gets_ours() -> None:
    draft = pod()
    change = affinity.require(draft, [H100])

    assert isinstance(change, Change)
    assert draft.get(affinity.REQUIRED) == [H100]
    assert change.describe() == "requires product in (H100)"


def test_our_constraint_goes_into_every_term_of_the_users() -> None:
    draft = pod(ZONE_A, ZONE_B)
    affinity.require(draft, [H100])

    assert draft.get(affinity.REQUIRED) == [
        {"matchExpressions": ZONE_A["matchExpressions"] + H100["matchExpressions"]},
        {"matchExpressions": ZONE_B["matchExpressions"] + H100["matchExpressions"]},
    ]


def test_several_terms_of_ours_multiply() -> None:
    draft = pod(ZONE_A, ZONE_B)
    affinity.require(draft, [H100, term("product", "H200")])

    assert len(draft.get(affinity.REQUIRED)) == 4


@pytest.mark.parametrize(
    "user",
    [
        pod(H100),
        pod(term("product", "H100"), selector={"zone": "a"}),
        pod(selector={"product": "H100"}),
        pod({"matchExpressions": [*ZONE_A["matchExpressions"], *H100["matchExpressions"]]}),
    ],
)
def test_terms_that_imply_ours_stay_as_they_are(user: Draft) -> None:
    assert affinity.require(user, [term("product", "H100", "H200")]) is None
    assert user.touched == frozenset()


def test_the_second_pass_changes_nothing() -> None:
    draft = pod(ZONE_A, ZONE_B)
    affinity.require(draft, [H100, term("product", "H200")])

    assert affinity.require(draft, [H100, term("product", "H200")]) is None


def test_what_the_node_selector_says_is_not_said_again() -> None:
    draft = pod(ZONE_A, selector={"product": "H100"})
    ours = {"matchExpressions": [*H100["matchExpressions"], {"key": "nvlink", "operator": "Exists"}]}
    affinity.require(draft, [ours])

    assert draft.get(affinity.REQUIRED)[0]["matchExpressions"] == [
        *ZONE_A["matchExpressions"],
        {"key": "nvlink", "operator": "Exists"},
    ]


def test_a_product_beyond_the_cap_is_left_out_whole() -> None:
    draft = pod(*(term("zone", str(number)) for number in range(9)))
    change = affinity.require(draft, [term("product", str(number)) for number in range(4)])

    assert isinstance(change, Skipped)
    assert draft.touched == frozenset()


def test_preferred_terms_stand_beside_the_users() -> None:
    own = {"weight": 5, "preference": ZONE_A}
    draft = Draft({"spec": {"affinity": {"nodeAffinity": {affinity.PREFERRED[-1]: [own]}}}})
    affinity.prefer(draft, [H100], 90)

    assert draft.get(affinity.PREFERRED) == [own, {"weight": 90, "preference": H100}]
    assert affinity.prefer(draft, [H100], 10) is None


def test_nothing_is_preferred_that_the_pod_requires() -> None:
    assert affinity.prefer(pod(H100), [H100], 90) is None
    assert affinity.prefer(pod(selector={"product": "H100"}), [H100], 90) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{}], r"nodeAffinity.required\[0\]: got no expression"),
        ([term("a", operator="In")], "got 0 values, which In does not take"),
        ([term("a", "1", "2", operator="Gt")], "got 2 values, which Gt does not take"),
        ([term("a", "1", operator="Exists")], "got 1 values, which Exists does not take"),
        ([term("a", "1", operator="Is")], "operator: got 'Is'"),
        ([{"matchLabels": {}}], "unknown key 'matchLabels'"),
    ],
)
def test_a_value_that_is_no_term_is_the_policys_error(value: object, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        affinity.require(pod(), value)
