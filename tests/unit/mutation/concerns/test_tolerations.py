"""Tolerations are added where the pod does not tolerate the same already."""

from typing import Any

import pytest

from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.mutation.concerns import tolerations

GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def pod(*present: dict[str, Any]) -> Draft:
    return Draft({"spec": {"tolerations": list(present)} if present else {}})


def test_a_toleration_is_appended_after_the_users_own() -> None:
    draft = pod({"key": "team", "operator": "Equal", "value": "a"})
    change = tolerations.add(draft, [GPU])

    assert draft.get(("spec", "tolerations"))[1:] == [GPU]
    assert change is not None
    assert change.wrote == [GPU]
    assert change.describe() == "tolerates nvidia.com/gpu:NoSchedule"


# tests/real-manifests.md 17: one taint, many spellings
@pytest.mark.parametrize(
    "present",
    [
        GPU,
        {"key": "nvidia.com/gpu", "operator": "Exists"},
        {"operator": "Exists"},
        {"key": "", "operator": "Exists", "effect": ""},
        {"operator": "Exists", "effect": "NoSchedule"},
    ],
)
def test_what_the_pod_tolerates_already_is_not_added_whatever_its_spelling(present: dict[str, Any]) -> None:
    assert tolerations.add(pod(present), [GPU]) is None


@pytest.mark.parametrize(
    "present",
    [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"},
        {"key": "nvidia/gpu", "operator": "Exists"},
        {"key": "nvidia.com/gpu"},
    ],
)
def test_a_narrower_or_other_toleration_is_no_cover(present: dict[str, Any]) -> None:
    draft = pod(present)

    assert tolerations.add(draft, [GPU]) is not None
    assert draft.get(("spec", "tolerations")) == [present, GPU]


def test_the_same_toleration_twice_is_added_once() -> None:
    draft = pod()
    tolerations.add(draft, [GPU, dict(GPU)])

    assert draft.get(("spec", "tolerations")) == [GPU]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "tolerations: got 'x', want a list of maps"),
        ([1], r"tolerations\[0\]: got 1, want a map"),
        ([{"operator": "Exists"}], r"tolerations\[0\].key: got null, want a string"),
        ([{"key": "a", "operator": "Like"}], r"tolerations\[0\].operator: got 'Like', want one of Exists, Equal"),
        ([{"key": "a", "effect": "Never"}], r"tolerations\[0\].effect: got 'Never'"),
        ([{"key": "a", "keys": "b"}], r"tolerations\[0\]: unknown key 'keys'"),
        ([{"kye": "a"}], r"tolerations\[0\]: unknown key 'kye'; did you mean key\?"),
        ([{"key": "a", "operator": "Exists", "value": "b"}], r"tolerations\[0\].value: got 'b', want none"),
    ],
)
def test_a_value_that_is_no_toleration_is_the_policys_error(value: object, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        tolerations.add(pod(), value)
