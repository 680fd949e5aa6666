"""Our terms are joined to the user's; nothing of theirs is lost, and nothing is added that they imply."""

from itertools import product
from typing import Any

import pytest

from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.kube.selector import node_selector_matches
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


@pytest.mark.parametrize("written", [{}, {"nodeSelectorTerms": []}, {"nodeSelectorTerms": None}])
def test_affinity_without_a_term_selects_no_node_and_is_not_made_to_select_some(written: dict[str, Any]) -> None:
    draft = Draft({"spec": {"affinity": {"nodeAffinity": {affinity.REQUIRED[-2]: written}}}})

    change = affinity.require(draft, [H100])

    assert isinstance(change, Skipped)
    assert change.reason == "the pod requires node affinity without a term, which selects no node"
    assert draft.patch() == []


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


@pytest.mark.parametrize(
    ("own", "ours", "said"),
    [
        (term("memory", "50000", operator="Lt"), term("memory", "79999", operator="Gt"), False),
        (term("memory", "80000", operator="Lt"), term("memory", "79999", operator="Gt"), False),
        (term("memory", "80001", operator="Lt"), term("memory", "79999", operator="Gt"), True),
        (term("memory", "79999", operator="Gt"), term("memory", "50000", operator="Lt"), False),
        (term("memory", "1e5", operator="Lt"), term("memory", "79999", operator="Gt"), True),
    ],
)
def test_numbers_that_exclude_each_other_are_not_joined(own: dict[str, Any], ours: dict[str, Any], said: bool) -> None:
    draft = pod(own)
    assert isinstance(affinity.require(draft, [ours]), Change) is said
    assert (draft.get(affinity.REQUIRED) == [own]) is not said
    alone = pod({"matchExpressions": [*own["matchExpressions"], *ours["matchExpressions"]]})
    assert (affinity.impossible(alone) == "") is said


@pytest.mark.parametrize(
    ("own", "ours"),
    [
        (term("memory", "100000", operator="Gt"), term("memory", "79999", operator="Gt")),
        (term("memory", "10", operator="Lt"), term("memory", "20", operator="Lt")),
        (term("memory", "10", operator="Gt"), term("memory", "10", "9", "x", operator="NotIn")),
    ],
)
def test_a_narrower_number_implies_a_wider_one(own: dict[str, Any], ours: dict[str, Any]) -> None:
    assert affinity.require(pod(own), [ours]) is None
    assert isinstance(affinity.require(pod(ours), [own]), Change)


def test_a_product_beyond_the_cap_is_left_out_whole() -> None:
    draft = pod(*(term("zone", str(number)) for number in range(9)))
    change = affinity.require(draft, [term("product", str(number)) for number in range(4)])

    assert isinstance(change, Skipped)
    assert draft.touched == frozenset()


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        (
            pod(selector={"product": "A100"}),
            "it wants product in (H100), and the pod's nodeSelector says product in (A100)",
        ),
        (
            pod(term("product", "H100", operator="NotIn"), term("product", operator="DoesNotExist")),
            "it wants product in (H100), and the pod's node affinity says product not in (H100)",
        ),
        (
            pod(term("memory", "80000", operator="Lt"), selector={"product": "A100"}),
            "it wants product in (H100), and the pod's nodeSelector says product in (A100)",
        ),
    ],
)
def test_a_contradiction_is_named_and_nothing_is_written(user: Draft, reason: str) -> None:
    assert affinity.require(user, [H100]) == Skipped(reason)
    assert affinity.prefer(user, [H100], 90) == Skipped(reason)
    assert user.touched == frozenset()


def test_a_contradiction_with_one_of_several_terms_leaves_the_others() -> None:
    draft = pod(term("product", "A100"), ZONE_A)
    affinity.require(draft, [H100])
    # The term that nothing is left of stays, so that a manifest applied again is still recognised.
    assert draft.get(affinity.REQUIRED) == [
        {"matchExpressions": term("product", "A100")["matchExpressions"] + H100["matchExpressions"]},
        {"matchExpressions": ZONE_A["matchExpressions"] + H100["matchExpressions"]},
    ]


def test_the_product_has_no_term_that_selects_nothing_more() -> None:
    draft = pod(term("product", "H100", "H200"), selector={"size": "8"})
    affinity.require(draft, [term("product", "H100"), term("product", "A100"), term("size", "8"), term("size", "4")])
    assert draft.get(affinity.REQUIRED) == [term("product", "H100", "H200")]
    other = pod(ZONE_A)
    affinity.require(other, [H100, term("product", "H100", "H200")])
    assert other.get(affinity.REQUIRED) == [
        {"matchExpressions": ZONE_A["matchExpressions"] + term("product", "H100", "H200")["matchExpressions"]}
    ]


def test_of_our_terms_only_those_that_the_node_selector_allows_are_written() -> None:
    draft = pod(selector={"product": "H100"})
    affinity.require(draft, [term("product", "A100"), term("nvlink", operator="Exists")])
    assert draft.get(affinity.REQUIRED) == [term("nvlink", operator="Exists")]


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


PRODUCT, GKE, KARPENTER = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
ONE_MODEL = [
    term(PRODUCT, "NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe"),
    term(GKE, "nvidia-h100-80gb"),
    term(KARPENTER, "h100"),
]
"""One wish in the words of three clouds."""


@pytest.mark.parametrize(
    ("user", "said"),
    [
        (pod(selector={GKE: "nvidia-tesla-a100"}), f"nodeSelector says {GKE} in (nvidia-tesla-a100)"),
        (pod(selector={KARPENTER: "l4"}), f"nodeSelector says {KARPENTER} in (l4)"),
        (pod(term(PRODUCT, "NVIDIA-L40S", "Tesla-T4")), f"node affinity says {PRODUCT} in (NVIDIA-L40S, Tesla-T4)"),
        (pod(selector={"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}), "nodeSelector says amd.com/"),
    ],
)
def test_a_model_is_another_one_in_the_words_of_each_cloud(user: Draft, said: str) -> None:
    for change in (affinity.require(user, ONE_MODEL), affinity.prefer(user, ONE_MODEL, 10)):
        assert isinstance(change, Skipped)
        assert said in change.reason
    assert user.touched == frozenset()


@pytest.mark.parametrize(
    "selector",
    [
        {GKE: "nvidia-h100-mega-80gb"},
        {KARPENTER: "h100"},
        # Not among the models, so that nobody knows which it is; no model at all
        {GKE: "nvidia-next"},
        {"topology.kubernetes.io/zone": "a100"},
    ],
)
def test_the_same_model_or_an_unknown_one_is_no_contradiction(selector: dict[str, str]) -> None:
    assert not isinstance(affinity.require(pod(selector=selector), ONE_MODEL), Skipped)


def test_only_the_terms_of_another_model_are_left_out() -> None:
    draft = pod(selector={GKE: "nvidia-l4"})
    affinity.require(draft, [term(PRODUCT, "NVIDIA-H100-PCIe"), term(PRODUCT, "NVIDIA-L4")])
    assert draft.get(affinity.REQUIRED) == [term(PRODUCT, "NVIDIA-L4")]


def test_a_label_excluded_or_merely_present_is_no_model() -> None:
    for own in (term(GKE, "nvidia-l4", operator="NotIn"), term(GKE, operator="Exists")):
        assert isinstance(affinity.require(pod(own), ONE_MODEL), Change)


PRODUCT, GKE = "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator"


@pytest.mark.parametrize(
    ("user", "said"),
    [
        (pod(term("zone", "b"), selector={"zone": "a"}), "zone in (a) and zone in (b)"),
        (pod(term("zone", "a", "b", operator="NotIn"), selector={"zone": "a"}), "zone in (a) and zone not in (a, b)"),
        (pod(term("zone", operator="DoesNotExist"), selector={"zone": "a"}), "zone in (a) and !zone"),
        (pod(ZONE_B, term("zone", "c"), selector={"zone": "a"}), "zone in (a) and zone in (b)"),
        (pod(selector={PRODUCT: "NVIDIA-L4", GKE: "nvidia-h100-80gb"}), f"{PRODUCT} in (NVIDIA-L4)"),
        (pod({"matchExpressions": [*ZONE_A["matchExpressions"], *ZONE_B["matchExpressions"]]}), "zone in (b)"),
        (pod(ZONE_A, ZONE_B, selector={"zone": "a"}), ""),
        (pod(H100, selector={"zone": "a"}), ""),
        (pod(term("zone", operator="Exists"), selector={"zone": "a"}), ""),
        (pod(selector={PRODUCT: "NVIDIA-L4-SHARED", GKE: "nvidia-l4"}), ""),
        (pod(), ""),
    ],
)
def test_a_choice_that_contradicts_itself_is_found(user: Draft, said: str) -> None:
    found = affinity.impossible(user)
    assert said in found
    assert bool(said) == bool(found)


def test_what_is_impossible_matches_no_node() -> None:
    values = ("a", "b")
    expressions = [(operator, values[:n]) for operator in ("In", "NotIn") for n in (1, 2)]
    expressions += [("Exists", ()), ("DoesNotExist", ()), ("Gt", ("1",))]
    nodes = [{}, *({"zone": value} for value in (*values, "c", "0", "2"))]
    impossible = 0
    for one, two in product(expressions, repeat=2):
        terms = [term("zone", *both, operator=operator)["matchExpressions"][0] for operator, both in (one, two)]
        for selector in ({}, {"zone": "a"}):
            if affinity.impossible(pod({"matchExpressions": terms}, selector=selector)):
                impossible += 1
                for labels in nodes:
                    chosen = selector.items() <= labels.items()
                    assert not (chosen and node_selector_matches([{"matchExpressions": terms}], labels, {}))
    assert impossible > len(expressions)


def test_many_terms_are_not_compared() -> None:
    many = [term("zone", f"b{number}") for number in range(affinity.MAX_TERMS + 1)]
    assert affinity.impossible(pod(*many[:-1], selector={"zone": "a"}))
    assert affinity.impossible(pod(*many, selector={"zone": "a"})) == ""
