"""Variables are added to every container that does not have them, and override nobody's."""

from typing import Any

import pytest

from builders import container, pod, sidecar
from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.mutation.change import Change, Skipped
from podberth.mutation.concern import Present
from podberth.mutation.concerns import env

OURS = {"name": "A", "value": "1"}


def add(document: dict[str, Any], **values: object) -> tuple[Change | Skipped | None, dict[str, Any]]:
    draft = Draft(document)
    change = env.add(draft, values)
    return change, draft.document["spec"]


def test_every_container_init_container_and_sidecar_gets_the_variables_after_its_own() -> None:
    own = {"name": "OWN", "value": "$(A)"}
    change, spec = add(pod(container("a", env=[own]), container("b"), init=[container("i"), sidecar("s")]), A="1")

    assert [each["env"] for each in spec["containers"]] == [[own, OURS], [OURS]]
    assert [each["env"] for each in spec["initContainers"]] == [[OURS], [OURS]]
    assert isinstance(change, Change)
    assert change.wrote == {name: {"A": "1"} for name in ("a", "b", "i", "s")}
    assert change.describe() == "env A=1 in container a, b, i, s"


@pytest.mark.parametrize(
    "own",
    [
        {"env": [{"name": "A", "value": "mine"}]},
        {"env": [{"name": "A"}]},
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
    ],
)
def test_a_variable_that_a_container_has_stays(own: dict[str, Any]) -> None:
    change, spec = add(pod(container("a", **own)), A="1")

    assert change is None
    assert spec["containers"][0]["env"] == own["env"]


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ({"configMapRef": {"name": "c"}}, False),
        ({"prefix": "", "secretRef": {"name": "c"}}, False),
        ({"prefix": "NCCL_", "secretRef": {"name": "c"}}, False),
        ({"prefix": "WANDB_", "secretRef": {"name": "c"}}, True),
    ],
)
def test_a_variable_that_an_env_from_may_define_is_not_overridden(source: dict[str, Any], written: bool) -> None:
    change, spec = add(pod(container("a", envFrom=[source])), NCCL_DEBUG="WARN")

    assert ("env" in spec["containers"][0]) == written
    assert written or change == Skipped("envFrom may set NCCL_DEBUG")


def test_a_null_leaves_its_variable_out() -> None:
    assert add(pod(), A=None)[0] is None
    assert add(pod(), A=None, B="2")[1]["containers"][0]["env"] == [{"name": "B", "value": "2"}]


def test_a_value_that_is_no_string_is_an_error() -> None:
    with pytest.raises(EvaluationError, match=r"env\[A\]: got 1, want a string"):
        add(pod(), A=1)


def test_an_environment_that_no_apiserver_sends_is_passed_over() -> None:
    assert add(pod(container("a", env=["x", {"name": ["A"]}], envFrom=7)), A="1")[1]["containers"][0]["env"][-1] == OURS
    with pytest.raises(EvaluationError, match="env: got 7 in the pod, want a list"):
        add(pod(container("a", env=7)), A="1")


def test_holds_says_whether_the_containers_have_what_was_written() -> None:
    there = Present(Draft(pod(container("a", env=[OURS]))))

    assert env.CONCERN.holds(there, {"a": {"A": "1"}})
    assert not env.CONCERN.holds(there, {"a": {"A": "2"}})
    assert not env.CONCERN.holds(there, {"b": {"A": "1"}})
