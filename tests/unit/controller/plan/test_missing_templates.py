"""Notices about pods whose claim template does not come."""

from dataclasses import replace
from typing import Any

import pytest

from podberth.controller.plan import makers
from podberth.controller.plan.claim_templates import KIND
from podberth.controller.plan.missing_templates import plan
from podberth.controller.plan.world import ActionPlan, Made, WaitingPod, World
from podberth.kube.pod import OwnerReference

NOW = 1_000_000.0
NAME = "pair-0a1b2c3d"
JOB = OwnerReference("batch/v1", "Job", "train", "job-uid")
POD = WaitingPod(
    namespace="team", name="train-0", uid="p-1", created=NOW - 100.0, owner=JOB, groups=(), templates=(NAME,)
)
REMEDY = "create the pod again, or give podberth controller the --policies of podberth serve"


def world(pod: WaitingPod = POD, **fields: Any) -> World:
    known: dict[str, Any] = {
        "pods": {"team/train-0": pod},
        "known": {KIND: {}},
        "served": {KIND: "resource.k8s.io/v1"},
        "absent": frozenset(),
        "owners": {("team", JOB): None},
        "gone": frozenset(),
        "fixed": {},
        "patience_seconds": 60.0,
        "declared": {"pair-ffffffff": {}},
    }
    return World(**{**known, **fields})


def notes(seen: World) -> list[str]:
    return [each.note for each in plan(seen, NOW).notices]


def test_a_template_that_no_policy_declares_any_more_is_reported_on_the_pod() -> None:
    [notice] = makers.plan(world(), NOW).notices
    assert (notice.reason, notice.type, notice.action) == ("ResourceClaimTemplateMissing", "Warning", "Wait")
    assert (notice.regarding.kind, notice.regarding.name, notice.regarding.uid) == ("Pod", "train-0", "p-1")
    assert notice.note == (
        f"ResourceClaimTemplate team/{NAME}: got none after 60 s, and a claim of this pod names it; "
        f"no policy in force declares it (any more); {REMEDY}"
    )


def test_without_any_policies_it_is_the_same() -> None:
    assert len(notes(world(declared={}))) == 1


@pytest.mark.parametrize(
    "seen",
    [
        world(declared={NAME: {}}),
        world(declared=None),
        world(known={KIND: {("team", NAME): Made(uid="t", version="1", ours=False)}}),
        world(served={}, known={}),
        world(replace(POD, gated=True)),
        world(replace(POD, templates=("own-template",))),
        world(replace(POD, templates=("-0a1b2c3d", "pair-0a1b2c3", "pair-0A1B2C3D"))),
    ],
    ids=["about to be made", "policies not loaded", "there", "not served", "gated", "another's name", "no digest"],
)
def test_nothing_is_said_about_others(seen: World) -> None:
    assert notes(seen) == []


def test_a_pod_that_has_not_waited_long_is_checked_again_later() -> None:
    found = plan(world(replace(POD, created=NOW - 10.0)), NOW)
    assert (found.notices, found.again_at) == (ActionPlan().notices, NOW + 50.0)


@pytest.mark.parametrize("failed", [(KIND, ("team", NAME)), ("team", JOB)])
def test_the_reason_why_podberth_cannot_make_it_is_reported(failed: Any) -> None:
    owners = {} if failed == ("team", JOB) else {("team", JOB): None}
    [note] = notes(world(declared={NAME: {}}, owners=owners, failed={failed: "POST x: no answer in time; try again"}))
    assert note.endswith("; podberth could not make it: POST x: no answer in time; try again")
