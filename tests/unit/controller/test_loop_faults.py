"""The leader's reaction to temporary refusals, unreadable owners, and bugs."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from builders import job_pod
from podberth.controller import owner_cache as looked_up
from podberth.controller.plan.world import Create, GroupChange, LookUp
from podberth.errors import ClusterError
from podberth.workload.gang_keys import with_gang_keys

from .scene import FRESH, JOB, POD, Scene, gang, play

if TYPE_CHECKING:
    from podberth.kube.pod import OwnerReference


@pytest.mark.parametrize("status", [403, 409])
def test_a_conflict_ends_the_notice_of_an_earlier_refusal(status: int) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 6)
        # The notice of the first refusal is sent again if it had gone meanwhile.
        assert scene.reasons() == ["PodGroupRefused"] * (1 if status == 403 else 2)

    play(story, statuses=[403, status, status, 403, 403])


def test_a_refusal_by_an_api_server_that_has_just_started_is_tried_again() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) >= 3)
        assert scene.count(Create) == 0
        scene.owner_status = 200
        await scene.until(lambda: scene.count(Create) == 1)
        assert not any(b"cannot be read" in line for line in scene.lines)

    play(story, FRESH, owner_status=403)


def test_an_owner_that_cannot_be_read_is_asked_for_again_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(LookUp) >= 4)
        assert sum(b"cannot be read" in line for line in scene.lines) == 1
        scene.owner_status = 200
        await scene.until(lambda: scene.count(GroupChange) == 1)

    monkeypatch.setattr(looked_up, "ASK_AGAIN_SECONDS", 0.01)
    name = f"job-{JOB.uid}"
    member = with_gang_keys(job_pod(0, uid=JOB.uid, labels={"podberth.io/gang": name}))
    pod = replace(gang(name, JOB), size=0, gang_keys=member, sized_by_owner=True)
    play(story, pods={"team/pod": pod}, owner_status=403, owner_spec={"parallelism": 3, "completions": 3})


def test_an_owner_that_is_no_answer_counts_as_one_that_cannot_be_read() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        assert any(b"cannot be read" in line and b"got more than 3" in line for line in scene.lines)

    play(story, owner_error=ClusterError("garbled", "GET job: got more than 3145728 bytes"))


def test_a_bug_in_handling_one_answer_is_reported_and_paced_and_keeps_no_other_waiting() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: "PodGroupMissing" in scene.reasons())
        assert any("a bug in podberth: KeyError: 'x'" in each.note for each in scene.reported)
        await scene.until(lambda: scene.count(Create) == 1)
        await scene.until(lambda: scene.count(LookUp) >= 3)
        scene.owner_error = None
        await scene.until(lambda: scene.count(Create) == 2)

    play(story, pods={"team/pod": POD, "team/z": gang("z")}, owner_error=KeyError("x"))


def test_a_bug_that_one_pod_causes_keeps_its_namespace_alone_waiting() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: scene.count(Create) == 1)
        [line] = [line for line in scene.lines if b'"namespace":"bad"' in line]
        assert b"a bug in podberth" in line
        scene.pods["team/z"] = gang("z")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 2)
        assert sum(b"a bug in podberth" in line for line in scene.lines) == 2
        del scene.pods["bad/broken"]
        scene.pods["bad/fixed"] = replace(gang("y"), namespace="bad")
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 3)

    broken = replace(POD, namespace="bad", owner=cast("OwnerReference", 1))
    play(story, pods={"team/pod": POD, "bad/broken": broken})


def test_a_bug_that_one_round_meets_ends_nothing() -> None:
    async def story(scene: Scene) -> None:
        await scene.until(lambda: any(b"a bug in podberth" in line for line in scene.lines))
        del scene.pods["team/broken"]
        scene.wake.set()
        await scene.until(lambda: scene.count(Create) == 1)

    play(story, pods={"team/pod": POD, "team/broken": replace(POD, owner=cast("OwnerReference", 1))})
