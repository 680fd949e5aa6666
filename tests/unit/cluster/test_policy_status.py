"""When a policy's status is written: a verdict is said once, and nobody answers another replica."""

from datetime import UTC, datetime
from typing import Any

import pytest

from podberth.cluster.policy_status import status_due, turn
from podberth.cluster.source import Verdict
from podberth.errors import Problem

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 4, 4, 5, tzinfo=UTC)
GOOD = Verdict("a", 2, "active", ())
BROKEN = Verdict("a", 2, "outdated", (Problem("gpupolicy/a", 3, 4, "spec", "no"),))


def policy(status: dict[str, Any] | None = None, generation: int = 2) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "u-1", "generation": generation}, **({"status": status} if status else {})}


def said(verdict: Verdict) -> dict[str, Any]:
    status = status_due(policy(), verdict, NOW, again=True)
    assert status is not None
    return status


@pytest.mark.parametrize("verdict", [GOOD, BROKEN])
def test_what_is_said_already_is_not_said_again(verdict: Verdict) -> None:
    assert status_due(policy(said(verdict)), verdict, LATER, again=True) is None


def test_a_broken_policy_has_its_problems_at_their_places() -> None:
    compiled, active = said(BROKEN)["conditions"]
    assert (compiled["status"], compiled["message"]) == ("False", "gpupolicy/a:3:4 spec: no")
    assert active["status"] == "False"


def test_it_does_not_depend_on_what_a_replica_remembers() -> None:
    assert said(BROKEN) == said(Verdict("a", 2, "broken", BROKEN.problems))


def test_another_replicas_word_on_this_generation_is_corrected_once() -> None:
    assert status_due(policy(said(GOOD)), BROKEN, LATER, again=True) is not None
    assert status_due(policy(said(GOOD)), BROKEN, LATER, again=False) is None


def test_a_new_generation_is_spoken_of_and_what_stays_true_keeps_its_time() -> None:
    newer = Verdict("a", 3, "active", ())
    status = status_due(policy(said(GOOD), generation=3), newer, LATER, again=False)
    assert status is not None
    assert status["observedGeneration"] == 3
    assert {each["lastTransitionTime"] for each in status["conditions"]} == {"2026-01-02T03:04:05Z"}
    broken = Verdict("a", 3, "outdated", BROKEN.problems)
    status = status_due(policy(said(GOOD), generation=3), broken, LATER, again=False)
    assert status is not None
    assert {each["lastTransitionTime"] for each in status["conditions"]} == {"2026-01-02T04:04:05Z"}


def test_a_verdict_on_an_earlier_generation_is_kept_to_oneself() -> None:
    assert status_due(policy(generation=3), GOOD, NOW, again=True) is None


# ---- what is told in Events -----------------------------------------------------------------------------------------

NEWER, NEWER_BROKEN = Verdict("a", 3, "active", ()), Verdict("a", 3, "outdated", BROKEN.problems)


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (None, GOOD, "InForce"),
        (None, BROKEN, "NotCompiled"),
        (GOOD, NEWER_BROKEN, "Outdated"),
        (BROKEN, NEWER, "InForce"),
        (GOOD, NEWER, None),
        (BROKEN, NEWER_BROKEN, None),
    ],
)
def test_a_policy_is_told_of_when_it_turns_and_not_when_it_is_as_before(
    before: Verdict | None, now: Verdict, reason: str | None
) -> None:
    notice = turn(policy(said(before) if before else None, generation=now.generation), now)
    assert (notice.reason if notice else None) == reason
    if notice is not None:
        assert (notice.type == "Normal") == (not now.problems)
        assert (notice.regarding.kind, notice.regarding.namespace, notice.regarding.uid) == ("GPUPolicy", "", "u-1")
        assert notice.note.startswith(f"generation {now.generation} ")
        assert all(str(problem) in notice.note for problem in now.problems)
