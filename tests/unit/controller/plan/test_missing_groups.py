"""Notices about pods whose PodGroup does not come: no cluster."""

from dataclasses import replace

import pytest

from podberth.controller.plan.intake import waiting_pod
from podberth.controller.plan.pod_groups import GATHER_SECONDS
from podberth.controller.plan.world import WaitingPod
from podberth.topology.pod_groups import POD_GROUP_KINDS

from .gangs import JOB, KOORDINATOR, NATIVE, NOW, SERVED, document, member, ours, plan, world


@pytest.mark.parametrize("system", [each.name for each in POD_GROUP_KINDS])
def test_a_pod_is_reported_when_its_group_has_not_come_in_time(system: str) -> None:
    pod = replace(member(system), gang="")
    served = SERVED | {"podgroups.scheduling.volcano.sh": "v", "podgroups.scheduling.run.ai": "k"}
    early, late = (plan(world(pod, served=served), after) for after in (59.0, 60.0))
    assert (early.notices, early.again_at) == ([], NOW + 60.0)
    [notice] = late.notices
    assert (notice.reason, notice.type, notice.regarding.kind) == ("PodGroupMissing", "Warning", "Pod")
    assert notice.note.startswith("PodGroup team/gang: got none after 60 s")
    known = {kind: {("team", "gang"): ours(ours=False)} for kind in served}
    assert plan(world(pod, served=served, known=known), after=60.0).notices == []


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        (replace(member(), gang=""), "make one of podgroups.scheduling.k8s.io in that namespace"),
        (replace(member(), size=0), "set annotation podberth.io/gang-size and podberth makes it"),
        (member("volcano"), "the API server serves no podgroups.scheduling.volcano.sh: install it"),
    ],
)
def test_the_notice_has_a_remedy(pod: WaitingPod, said: str) -> None:
    [notice] = plan(world(pod), after=60.0).notices
    assert said in notice.note


def test_koordinators_group_counts_for_the_label_of_coscheduling() -> None:
    known = {KOORDINATOR: {("team", "gang"): ours(ours=False)}}
    found = plan(world(member("coscheduling"), known=known), after=60.0)
    assert (found.actions, found.notices) == ([], [])


def test_a_notice_says_that_the_owners_of_a_pod_are_gone() -> None:
    [notice] = plan(world(member(), gone=frozenset({("team", JOB)})), after=60.0).notices
    assert notice.reason == "PodGroupMissing"
    assert "podberth could not make it: the owners of its pods are gone" in notice.note


def test_the_reason_for_a_missing_group_is_reported_once_the_pod_has_waited_long_enough() -> None:
    failed = {(NATIVE, ("team", "gang")): "got 500"}
    early, late = (plan(world(member(), failed=failed), after) for after in (GATHER_SECONDS, 60.0))
    assert early.notices == []
    [notice] = late.notices
    assert notice.note.endswith("podberth could not make it: got 500")
    # Nothing was tried yet: the controller has just begun to lead.
    assert plan(world(member()), after=3600.0).notices == []
    [unread] = plan(world(member(), owners={}, failed={("team", JOB): "no answer"}), after=60.0).notices
    assert unread.note.endswith("because an owner of its pods cannot be read: no answer")


def test_a_pod_with_scheduling_gates_gets_no_notice_and_its_group_is_made() -> None:
    gated = waiting_pod({**document(), "spec": {**document()["spec"], "schedulingGates": [{"name": "quota"}]}})
    assert gated is not None
    found = plan(world(replace(gated, created=NOW)), after=60.0)
    assert (found.notices, len(found.actions)) == ([], 1)
    assert plan(world(replace(gated, created=NOW, size=0)), after=60.0).notices == []
