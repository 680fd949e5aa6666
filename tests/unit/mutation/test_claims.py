"""Claims are made from a template and used by the containers that are named; what is there stays."""

from typing import Any

import pytest

from builders import container, pod, sidecar
from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.kube.shape import RESOURCED_LISTS
from podberth.mutation import claims
from podberth.mutation.change import Change, Skipped

CLAIM = {"name": "nic", "template": "rdma"}
MADE = {"name": "nic", "resourceClaimTemplateName": "rdma"}


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
    assert all(claims.holds(draft, claims.templates(draft), item) for item in change.wrote)
    assert claims.add(draft, [{**CLAIM, **more}]) is None


@pytest.mark.parametrize("present", [[{"name": "nic"}], [{"name": "nic", "request": "x"}]])
def test_a_container_that_uses_the_claim_keeps_its_use(present: list[dict[str, str]]) -> None:
    draft = Draft(pod({**container("a"), "resources": {"claims": present}}, resourceClaims=[MADE]))

    assert claims.add(draft, [CLAIM]) is None
    assert uses(draft) == {"a": present}


def test_a_claim_of_the_users_own_stays() -> None:
    own = {"name": "nic", "resourceClaimName": "mine"}
    draft = Draft(pod(resourceClaims=[own]))

    assert claims.add(draft, [CLAIM]) == Skipped("resourceClaims", "the pod has a claim nic of its own")
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
    ],
)
def test_what_is_no_claim_is_an_error(item: dict[str, Any], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        claims.add(three(), [item])
