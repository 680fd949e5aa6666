"""Claims are made from a template and used by the containers that are named; what is there stays."""

from collections.abc import Mapping
from typing import Any

import pytest

from builders import container, pod, sidecar
from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.kube.shape import RESOURCED_LISTS
from podberth.mutation.change import Change, Skipped
from podberth.mutation.concern import Present
from podberth.mutation.concerns import resource_claims as claims

CLAIM = {"name": "nic", "template": "rdma"}
MADE = {"name": "nic", "resourceClaimTemplateName": "rdma"}


def one(_: Mapping[str, Any]) -> int:
    return 1


def uses(draft: Draft) -> dict[str, list[dict[str, Any]]]:
    return {
        each["name"]: (each.get("resources") or {}).get("claims", [])
        for kind in RESOURCED_LISTS
        for each in draft.document["spec"].get(kind, ())
    }


def three() -> Draft:
    return Draft(pod(container("a"), init=[container("i"), sidecar("s")]))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {"a": [{"name": "nic"}], "i": [{"name": "nic"}], "s": [{"name": "nic"}]}),
        ({"containers": ["s"]}, {"a": [], "i": [], "s": [{"name": "nic"}]}),
        (
            {"containers": ["a", "none"], "requests": ["x", "y"]},
            {"a": [{"name": "nic", "request": "x"}, {"name": "nic", "request": "y"}], "i": [], "s": []},
        ),
    ],
)
def test_a_claim_is_made_and_used(more: dict[str, Any], expected: dict[str, Any]) -> None:
    draft = three()
    change = claims.add(draft, [{**CLAIM, **more}])

    assert draft.document["spec"]["resourceClaims"] == [MADE]
    assert uses(draft) == expected
    assert isinstance(change, Change)
    assert claims.CONCERN.holds(Present(draft), change.wrote)
    assert claims.add(draft, [{**CLAIM, **more}]) is None


@pytest.mark.parametrize("present", [[{"name": "nic"}], [{"name": "nic", "request": "x"}]])
def test_a_container_that_uses_the_claim_keeps_its_use(present: list[dict[str, str]]) -> None:
    draft = Draft(pod({**container("a"), "resources": {"claims": present}}, resourceClaims=[MADE]))

    assert claims.add(draft, [CLAIM]) is None
    assert uses(draft) == {"a": present}


def test_a_claim_of_the_users_own_stays() -> None:
    own = {"name": "nic", "resourceClaimName": "mine"}
    draft = Draft(pod(resourceClaims=[own]))

    assert claims.add(draft, [CLAIM]) == Skipped("the pod has a claim nic of its own")
    assert draft.patch() == []


def test_a_claim_that_no_container_would_use_is_not_made() -> None:
    draft = three()

    assert claims.add(draft, [{**CLAIM, "containers": ["none"]}]) is None
    assert draft.patch() == []


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"name": "nic"}, r"resourceClaims\[0\].template: got null"),
        ({**CLAIM, "name": "N"}, r"resourceClaims\[0\].name: got 'N'"),
        ({**CLAIM, "containers": "a"}, r"resourceClaims\[0\].containers: got 'a', want a list"),
        ({**CLAIM, "requests": [1]}, r"resourceClaims\[0\].requests\[0\]: got 1"),
        ({**CLAIM, "request": []}, "unknown key 'request'"),
        ({**CLAIM, "instead": ""}, r"resourceClaims\[0\].instead: got ''"),
        ({**CLAIM, "instead": 1}, r"resourceClaims\[0\].instead: got 1"),
    ],
)
def test_what_is_no_claim_is_an_error(item: dict[str, Any], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        claims.add(three(), [item])


GPU = "nvidia.com/gpu"


def test_a_claim_instead_of_a_resource_is_used_by_those_that_ask_for_it_and_they_ask_no_more() -> None:
    draft = Draft(
        pod(
            container("a", limits={GPU: 1, "cpu": 2}, requests={GPU: 1}),
            container("b", limits={"cpu": 1}),
            init=[container("i", limits={"cpu": 1})],
        )
    )
    change = claims.add(draft, [{**CLAIM, "instead": GPU}])

    assert uses(draft) == {"a": [{"name": "nic"}], "b": [], "i": []}
    assert [each["resources"].get("limits") for each in draft.document["spec"]["containers"]] == [
        {"cpu": 2},
        {"cpu": 1},
    ]
    assert GPU not in str(draft.document)
    assert isinstance(change, Change)
    assert change.describe() == "claim nic from template rdma for nvidia.com/gpu"
    assert claims.CONCERN.holds(Present(draft), change.wrote)
    assert claims.add(draft, [{**CLAIM, "instead": GPU}]) is None


def test_two_that_ask_for_the_resource_do_not_share_one_claim() -> None:
    both = (container("a", limits={GPU: 1}), container("b", limits={GPU: 1}))
    draft = Draft(pod(*both))
    skipped = claims.add(draft, [{**CLAIM, "instead": GPU}], one)

    assert isinstance(skipped, Skipped)
    assert skipped.reason == f"more than one container asks for {GPU}, and all would share one claim nic; name one"
    assert draft.patch() == []


def test_where_nobody_asks_for_the_resource_there_is_no_claim() -> None:
    draft = Draft(pod(container("a", limits={"cpu": 1})))

    assert claims.add(draft, [{**CLAIM, "instead": GPU}]) is None
    assert draft.patch() == []


def test_only_the_named_containers_give_the_resource_up() -> None:
    draft = Draft(pod(container("a", limits={GPU: 1}), container("b", limits={GPU: 1})))
    claims.add(draft, [{**CLAIM, "instead": GPU, "containers": ["b"]}])

    assert [GPU in (each["resources"].get("limits") or {}) for each in draft.document["spec"]["containers"]] == [
        True,
        False,
    ]


def test_a_claim_of_the_users_own_keeps_the_resource() -> None:
    draft = Draft(pod(container("a", limits={GPU: 1}), resourceClaims=[{"name": "nic", "resourceClaimName": "mine"}]))

    assert isinstance(claims.add(draft, [{**CLAIM, "instead": GPU}]), Skipped)
    assert draft.patch() == []


@pytest.mark.parametrize(
    ("has", "reason"),
    [
        (1, "claim nic: got 1 from template rdma, want 2: container a asks for 2 nvidia.com/gpu"),
        (3, "claim nic: got 3 from template rdma, want 2: container a asks for 2 nvidia.com/gpu"),
        (0, "claim nic: got 0 from template rdma, want 2: container a asks for 2 nvidia.com/gpu"),
        (
            None,
            "how many devices template rdma has cannot be known; container a asks for 2 nvidia.com/gpu",
        ),
    ],
)
def test_a_claim_for_another_number_of_devices_leaves_all_as_it_is(has: int | None, reason: str) -> None:
    draft = Draft(pod(container("a", limits={GPU: 2})))
    others = {"name": "other", "template": "other"}

    assert claims.add(draft, [others, {**CLAIM, "instead": GPU}], lambda _: has) == Skipped(reason)
    assert draft.patch() == []
    assert len(reason) <= 120


def test_a_claim_for_as_many_devices_stands_for_them() -> None:
    draft = Draft(pod(container("a", limits={GPU: "2"}), container("b", limits={GPU: 0})))

    assert isinstance(claims.add(draft, [{**CLAIM, "instead": GPU}], lambda _: 2), Change)
    assert uses(draft) == {"a": [{"name": "nic"}], "b": []}


def test_an_amount_that_is_none_is_left_to_the_api_server() -> None:
    draft = Draft(pod(container("a", limits={GPU: "much"})))
    skipped = claims.add(draft, [{**CLAIM, "instead": GPU}], one)

    assert isinstance(skipped, Skipped)
    assert skipped.reason.startswith('container a asks for nvidia.com/gpu: got "much"')
    assert draft.patch() == []


TWO = (container("a", limits={GPU: 1}), container("b", limits={GPU: 1}))


@pytest.mark.parametrize("requests", [([], []), (["x"], ["x", "y"]), ([], ["x"])])
def test_two_items_do_not_share_the_devices_of_one_claim_either(requests: tuple[list[str], list[str]]) -> None:
    draft = Draft(pod(*TWO))
    items = [
        {**CLAIM, "instead": GPU, "containers": [name], "requests": names}
        for name, names in zip("ab", requests, strict=True)
    ]

    assert isinstance(claims.add(draft, items, one), Skipped)
    assert draft.patch() == []


def test_two_containers_have_a_request_of_one_claim_each() -> None:
    draft = Draft(pod(*TWO))
    items = [{**CLAIM, "instead": GPU, "containers": [name], "requests": [f"of-{name}"]} for name in "ab"]

    assert isinstance(claims.add(draft, items, one), Change)
    assert uses(draft) == {name: [{"name": "nic", "request": f"of-{name}"}] for name in "ab"}


@pytest.mark.parametrize("user", ["a", "b"])
def test_a_claim_in_use_stands_for_nothing_besides(user: str) -> None:
    both = [container(name, limits={GPU: 1} if name == "a" else {}) for name in "ab"]
    for each in both:
        if each["name"] == user:
            each["resources"] = {**each.get("resources", {}), "claims": [{"name": "nic"}]}
    draft = Draft(pod(*both, resourceClaims=[MADE]))

    reason = f"claim nic is used by container {user} already, and container a asks for {GPU} besides"
    assert claims.add(draft, [{**CLAIM, "instead": GPU}], one) == Skipped(reason)
    assert draft.patch() == []
