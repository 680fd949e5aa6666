"""Scheduler, runtime class and priority class are set where the user has not set them."""

from typing import Any

import pytest

from builders import pod
from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.kube.schema import PodSchema
from podberth.mutation.change import Change, Proposal, Skipped
from podberth.mutation.concern import Surroundings
from podberth.mutation.membership import NOTHING_KNOWN
from podberth.mutation.pipeline import CONCERNS

FIELDS = ("schedulerName", "runtimeClassName", "priorityClassName")


def set_name(
    draft: Draft, field: str, value: object, default: str = "", known: frozenset[str] | None = None
) -> Change | Skipped | None:
    surroundings = Surroundings(lambda: NOTHING_KNOWN, default, known, PodSchema.packaged())
    return CONCERNS[field].build(draft, Proposal(concern=field, leaves={"": value}), surroundings)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("present", [[], [None], [""]])
def test_a_field_without_a_value_is_set(field: str, present: list[Any]) -> None:
    document = pod()
    for value in present:
        document["spec"][field] = value
    draft = Draft(document)
    set_name(draft, field, "ours")

    assert draft.document["spec"][field] == "ours"
    assert set_name(draft, field, "ours") is None


@pytest.mark.parametrize("field", FIELDS)
def test_the_users_value_stays(field: str) -> None:
    document = pod()
    document["spec"][field] = "mine"
    draft = Draft(document)

    assert set_name(draft, field, "ours", "other") is None
    assert draft.document["spec"][field] == "mine"


def test_the_default_scheduler_is_nobodys_choice() -> None:
    draft = Draft(pod(schedulerName="default-scheduler"))
    set_name(draft, "schedulerName", "ours")

    assert draft.document["spec"]["schedulerName"] == "ours"


def test_a_priority_class_takes_the_computed_values_of_the_default_class_along() -> None:
    draft = Draft(pod(priorityClassName="usual", priority=100, preemptionPolicy="Never"))
    change = set_name(draft, "priorityClassName", "urgent", "usual", frozenset({"usual", "urgent"}))

    assert draft.document["spec"] == {**pod()["spec"], "priorityClassName": "urgent"}
    assert {each["path"]: each["op"] for each in draft.patch()} == {
        "/spec/preemptionPolicy": "remove",
        "/spec/priority": "remove",
        "/spec/priorityClassName": "replace",
    }
    assert isinstance(change, Change)
    assert change.describe() == "priorityClassName urgent"


def test_the_default_class_itself_changes_nothing() -> None:
    draft = Draft(pod(priorityClassName="usual", priority=100))

    assert set_name(draft, "priorityClassName", "usual", "usual") is None
    assert draft.patch() == []


def test_a_class_that_the_cluster_does_not_have_is_not_written() -> None:
    draft = Draft(pod(priorityClassName="usual", priority=100))

    skipped = set_name(draft, "priorityClassName", "urgent", "usual", frozenset({"usual"}))
    assert skipped == Skipped("the cluster has no PriorityClass urgent")
    assert draft.patch() == []


@pytest.mark.parametrize("field", FIELDS)
def test_an_empty_name_does_nothing_and_what_is_no_name_is_an_error(field: str) -> None:
    assert set_name(Draft(pod()), field, "") is None
    for wrong in ("Upper", "a_b", "-a", "a" * 254, 1):
        with pytest.raises(EvaluationError, match=f"{field}: got .*, want an object's name"):
            set_name(Draft(pod()), field, wrong)
